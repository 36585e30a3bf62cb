// Every decoder of a target's disk formats on arbitrary bytes.  The first byte chooses the decoder;
// what decodes must encode to something that decodes to the same.
#include <cstdint>
#include <cstdlib>

#include "engine/codec/compress.h"
#include "engine/store/fragment_header.h"
#include "engine/store/index_format.h"
#include "engine/store/superblock.h"

namespace {

using namespace cairn;         // NOLINT
using namespace cairn::store;  // NOLINT

template <class Decoded, class Decode>
void round_trip(const Decoded& value, Decode decode) {
  const std::string bytes = encode(value);
  const auto again = decode(bytes);
  if (!again || !(*again == value)) std::abort();
}

void check(std::uint8_t which, Bytes bytes) {
  const std::string_view text = as_text(bytes);
  switch (which % 6) {
    case 0:
      if (const auto header = decode_header(bytes)) {
        std::vector<std::byte> out(header->header_bytes);
        encode_header(header->header, header->table, out);
        if (!decode_header(out)) std::abort();
      }
      break;
    case 1:
      if (const auto s = decode_superblock(bytes)) {
        round_trip(*s, [](std::string_view b) { return decode_superblock(as_bytes(b)); });
      }
      break;
    case 2:
      if (const auto record = decode_fragment_record(text)) {
        round_trip(*record, decode_fragment_record);
      }
      break;
    case 3:
      if (const auto record = decode_segment_record(text)) {
        round_trip(*record, decode_segment_record);
      }
      break;
    case 4:
      if (const auto mark = decode_scan_mark(text)) round_trip(*mark, decode_scan_mark);
      break;
    default:
      if (const auto raw = codec::decompress(bytes, kMiB); raw && raw->size() > kMiB) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  check(data[0], {reinterpret_cast<const std::byte*>(data + 1), size - 1});
  return 0;
}
