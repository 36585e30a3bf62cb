#include "engine/store/index_format.h"

#include "engine/base/bytes.h"
#include "engine/base/limits.h"

namespace cairn::store {
namespace {

tl::unexpected<Status> corrupt(const char* what) {
  return fail(Code::kCorrupt, std::string("index: ") + what +
                                  "; stop the target and run `cairn target rebuild-index`");
}

Status check_version(std::uint8_t version) {
  if (version == kIndexFormat) return {};
  return {Code::kUnsupported, Reason::kVersion,
          "index record has format " + std::to_string(version) + ", this build reads " +
              std::to_string(kIndexFormat)};
}

}  // namespace

std::string fragment_key(const FragmentName& name) {
  std::string key;
  append_be(key, name.object.incarnation);
  append_be(key, name.object.counter);
  append_be(key, name.index);
  append_be(key, name.placement.value);
  return key;
}

Result<FragmentName> parse_fragment_key(std::string_view key) {
  ByteReader in(as_bytes(key));
  FragmentName name;
  name.object.incarnation = in.be<std::uint64_t>();
  name.object.counter = in.be<std::uint64_t>();
  name.index = in.be<std::uint8_t>();
  name.placement.value = in.be<std::uint32_t>();
  if (!in.ok() || in.remaining() != 0) return corrupt("a fragment key has a wrong length");
  return name;
}

std::string segment_key(SegmentNumber segment) {
  std::string key;
  append_be(key, segment.value);
  return key;
}

Result<SegmentNumber> parse_segment_key(std::string_view key) {
  ByteReader in(as_bytes(key));
  const SegmentNumber segment{in.be<std::uint64_t>()};
  if (!in.ok() || in.remaining() != 0) return corrupt("a segment key has a wrong length");
  return segment;
}

std::string dead_key(const Extent& extent) {
  std::string key = segment_key(extent.segment);
  append_be(key, extent.offset);
  return key;
}

std::string encode_dead(const Extent& extent) {
  std::string value;
  append_le(value, kIndexFormat);
  append_le(value, extent.bytes);
  return value;
}

Result<Extent> parse_dead(std::string_view key, std::string_view value) {
  ByteReader key_in(as_bytes(key));
  ByteReader in(as_bytes(value));
  Extent extent;
  extent.segment.value = key_in.be<std::uint64_t>();
  extent.offset = key_in.be<std::uint64_t>();
  TRY_VOID(check_version(in.le<std::uint8_t>()));
  extent.bytes = in.le<std::uint64_t>();
  if (!key_in.ok() || key_in.remaining() != 0 || !in.ok() || in.remaining() != 0) {
    return corrupt("a record of a deleted fragment has a wrong length");
  }
  return extent;
}

std::string encode(const FragmentRecord& record) {
  std::string value;
  append_le(value, kIndexFormat);
  append_le(value, static_cast<std::uint8_t>(record.state));
  append_le(value, record.extent.segment.value);
  append_le(value, record.extent.offset);
  append_le(value, record.extent.bytes);
  append_le(value, record.header_bytes);
  append_le(value, record.table_hash);
  return value;
}

Result<FragmentRecord> decode_fragment_record(std::string_view value) {
  ByteReader in(as_bytes(value));
  FragmentRecord record;
  TRY_VOID(check_version(in.le<std::uint8_t>()));
  const auto state = in.le<std::uint8_t>();
  record.state = static_cast<FragmentState>(state);
  record.extent.segment.value = in.le<std::uint64_t>();
  record.extent.offset = in.le<std::uint64_t>();
  record.extent.bytes = in.le<std::uint64_t>();
  record.header_bytes = in.le<std::uint32_t>();
  record.table_hash = in.le<std::uint64_t>();
  if (!in.ok() || in.remaining() != 0 || state < 1 || state > 2 ||
      record.header_bytes > kFragmentHeaderBytesMax || record.extent.bytes < record.header_bytes ||
      record.data_bytes() > kFragmentBytesMax) {
    return corrupt("a fragment record is malformed");
  }
  return record;
}

std::string encode(const SegmentRecord& record) {
  std::string value;
  append_le(value, kIndexFormat);
  append_le(value, record.fragments);
  append_le(value, record.bytes);
  return value;
}

Result<SegmentRecord> decode_segment_record(std::string_view value) {
  ByteReader in(as_bytes(value));
  SegmentRecord record;
  TRY_VOID(check_version(in.le<std::uint8_t>()));
  record.fragments = in.le<std::uint64_t>();
  record.bytes = in.le<std::uint64_t>();
  if (!in.ok() || in.remaining() != 0) return corrupt("a segment record is malformed");
  return record;
}

std::string encode(const ScanMark& mark) {
  std::string value;
  append_le(value, kIndexFormat);
  append_le(value, mark.commit);
  append_le(value, mark.segment_highest.value);
  append_le(value, static_cast<std::uint32_t>(mark.open.size()));
  for (const ScanMark::Position& position : mark.open) {
    append_le(value, position.segment.value);
    append_le(value, position.offset);
  }
  return value;
}

Result<ScanMark> decode_scan_mark(std::string_view value) {
  ByteReader in(as_bytes(value));
  ScanMark mark;
  TRY_VOID(check_version(in.le<std::uint8_t>()));
  mark.commit = in.le<std::uint64_t>();
  mark.segment_highest.value = in.le<std::uint64_t>();
  const auto count = in.le<std::uint32_t>();
  if (count > kOpenSegmentsMax) return corrupt("the scan mark names too many segments");
  for (std::uint32_t i = 0; i < count; ++i) {
    ScanMark::Position position;
    position.segment.value = in.le<std::uint64_t>();
    position.offset = in.le<std::uint64_t>();
    mark.open.push_back(position);
  }
  if (!in.ok() || in.remaining() != 0) return corrupt("the scan mark is malformed");
  return mark;
}

}  // namespace cairn::store
