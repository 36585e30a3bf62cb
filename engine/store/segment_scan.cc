#include "engine/store/segment_scan.h"

#include <algorithm>

#include "engine/codec/hash_table.h"
#include "engine/io/transfer.h"

namespace cairn::store {
namespace {

/// Decides about the page at `position`: how far the scan moves on.
class Scanner {
 public:
  Scanner(env::BlockDevice& device, io::PiecePool& pool, ScanRequest& request, std::uint64_t end)
      : device_(device), pool_(pool), request_(request), end_(end) {}

  /// `page` looks like a header.  Returns where the scan goes on.
  Task<Result<std::uint64_t>> judge(std::uint64_t position) {
    const std::uint64_t next_page = position + kPageBytes;
    io::Piece piece = co_await pool_.acquire();
    const MutableBytes memory = piece.memory().first(kFragmentHeaderBytesMax);
    CO_TRY(const std::uint64_t got,
           co_await io::read_up_to(device_, request_.file, position, memory));
    auto decoded = decode_header(memory.first(got));
    if (!decoded) {
      if (decoded.error().code() == Code::kUnsupported) co_return fail(std::move(decoded).error());
      decoded.error().ignore();  // a torn header, or payload that begins like one
      co_return next_page;
    }
    const FragmentHeader& header = decoded->header;
    const Extent extent{request_.segment, position, decoded->header_bytes + header.data_bytes()};
    if (!names_place(header, extent)) co_return next_page;

    CO_TRY(const bool known, request_.known(header, extent));
    if (known) co_return position + extent.bytes;

    FoundFragment found{header, extent, decoded->header_bytes, false};
    Status verified = co_await verify_data(device_, request_.file, pool_, *decoded);
    if (!verified.ok() && verified.code() != Code::kCorrupt) co_return fail(std::move(verified));
    found.verified = verified.ok();
    CO_TRY_VOID(request_.found(found));
    // Behind a header that can't be trusted everything is looked at.
    co_return found.verified ? position + extent.bytes : next_page;
  }

 private:
  bool names_place(const FragmentHeader& header, const Extent& extent) const {
    return header.cluster == request_.cluster && header.target == request_.target &&
           header.segment == extent.segment && header.segment_offset == extent.offset &&
           extent.offset + extent.bytes <= end_;
  }

  env::BlockDevice& device_;
  io::PiecePool& pool_;
  ScanRequest& request_;
  std::uint64_t end_;
};

}  // namespace

Task<Status> scan_segment(env::BlockDevice& device, io::PiecePool& pool, ScanRequest request) {
  CO_TRY(const std::uint64_t end, device.file_bytes(request.file));
  Scanner scanner(device, pool, request, end);
  io::Piece window = co_await pool.acquire();
  std::uint64_t position = round_down(request.from, kPageBytes);
  while (position < end) {
    const std::int64_t data = device.next_data(request.file, position);
    if (data < 0) co_return status_from_errno(static_cast<int>(-data), "looking for data");
    position = std::max(position, round_down(static_cast<std::uint64_t>(data), kPageBytes));
    if (position >= end) break;

    auto got = co_await io::read_up_to(device, request.file, position, window.memory());
    if (!got) co_return std::move(got).error();
    if (*got < kPageBytes) break;
    const std::uint64_t window_end = position + round_down(*got, kPageBytes);
    const std::uint64_t window_start = position;
    while (position < window_end) {
      const Bytes page = Bytes(window.memory()).subspan(position - window_start, kPageBytes);
      if (!looks_like_header(page)) {
        position += kPageBytes;
        continue;
      }
      auto next = co_await scanner.judge(position);
      if (!next) co_return std::move(next).error();
      position = *next;
    }
  }
  co_return Status();
}

Task<Result<DecodedHeader>> read_header(env::BlockDevice& device, env::DeviceFile file,
                                        Extent extent, std::uint32_t header_bytes,
                                        MutableBytes memory) {
  CAIRN_CHECK(header_bytes <= memory.size());
  const MutableBytes into = memory.first(header_bytes);
  CO_TRY_VOID(co_await io::read_fully(device, file, extent.offset, into));
  CO_TRY(DecodedHeader decoded, decode_header(into));
  if (decoded.header.segment != extent.segment || decoded.header.segment_offset != extent.offset ||
      decoded.header_bytes + decoded.header.data_bytes() != extent.bytes) {
    co_return fail(Code::kCorrupt, "a header names another place");
  }
  co_return decoded;
}

Task<Status> verify_data(env::BlockDevice& device, env::DeviceFile file, io::PiecePool& pool,
                         const DecodedHeader& decoded) {
  const FragmentHeader& header = decoded.header;
  CO_TRY(const auto table, codec::HashTableView::make(decoded.table, header.geometry));
  const std::uint64_t data_begin = header.segment_offset + decoded.header_bytes;
  io::Piece piece = co_await pool.acquire();
  for (std::uint64_t at = 0; at < header.data_bytes(); at += kPieceBytes) {
    const MutableBytes part = piece.memory().first(std::min(kPieceBytes, header.data_bytes() - at));
    CO_TRY_VOID(co_await io::read_fully(device, file, data_begin + at, part));
    CO_TRY_VOID(codec::verify_blocks(table, header.name.object, header.name.index,
                                     static_cast<std::uint32_t>(at / kBlockBytes), part));
  }
  co_return Status();
}

}  // namespace cairn::store
