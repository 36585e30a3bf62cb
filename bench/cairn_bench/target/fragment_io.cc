#include "bench/cairn_bench/target/fragment_io.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "bench/cairn_bench/target/measure.h"
#include "engine/codec/hash_table.h"

namespace cairn::bench {
namespace {

/// A put's bytes arrive in parts, as a socket gives them: each is still cached when it is hashed.
constexpr std::size_t kArrivalBytes = 128 * kKiB;

}  // namespace

AlignedBuffer::AlignedBuffer(std::uint64_t bytes) {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CAIRN_CHECK(memory != MAP_FAILED);
  memory_ = {static_cast<std::byte*>(memory), bytes};
}

AlignedBuffer::~AlignedBuffer() { ::munmap(memory_.data(), memory_.size()); }

layout::Geometry single_fragment(std::uint64_t object_bytes) {
  layout::Geometry geometry;
  geometry.data = 1;
  geometry.parity = 0;
  geometry.object_bytes = object_bytes;
  return geometry;
}

Object make_object(FragmentName name, std::uint64_t object_bytes, Bytes padded) {
  Object object{name, single_fragment(object_bytes), {}};
  CAIRN_CHECK(padded.size() == layout::fragment_bytes(object.geometry));
  object.table.resize(layout::table_bytes(object.geometry));
  codec::fill_table(std::as_writable_bytes(std::span(object.table)), object.geometry, name.object,
                    name.index, 0, padded);
  return object;
}

Task<Status> put_object(store::TargetStore& target, const Object& object, Bytes padded,
                        double* copy_cpu_seconds) {
  store::PutRequest request;
  request.name = object.name;
  request.geometry = object.geometry;
  request.table = as_bytes(object.table);
  CO_TRY(store::PutSession session, co_await target.begin_put(request));
  while (session.remaining() > 0) {
    CO_TRY(const MutableBytes room, co_await session.next_buffer());
    const std::size_t bytes = std::min({room.size(), padded.size(), kArrivalBytes});
    const double begin = copy_cpu_seconds != nullptr ? thread_cpu_seconds() : 0;
    std::memcpy(room.data(), padded.data(), bytes);
    if (copy_cpu_seconds != nullptr) *copy_cpu_seconds += thread_cpu_seconds() - begin;
    padded = padded.subspan(bytes);
    CO_TRY_VOID(session.filled(bytes));
  }
  co_return co_await session.finish();
}

Task<Result<std::uint64_t>> get_verified(store::TargetStore& target, FragmentName name,
                                         MutableBytes into) {
  CO_TRY(const store::FragmentInfo info, target.stat(name));
  if (info.data_bytes > into.size()) {
    co_return fail(Code::kInvalid, Reason::kTooLarge,
                   to_string(name) + " has " + format_bytes(info.data_bytes) +
                       ", the buffer holds " + format_bytes(into.size()));
  }
  const store::ReadRange whole{0, info.data_bytes};
  CO_TRY_VOID(co_await target.read_fragment(name, whole, into.first(info.data_bytes),
                                            store::Verify::kHere));
  co_return info.data_bytes;
}

}  // namespace cairn::bench
