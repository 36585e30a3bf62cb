#include "engine/base/hash.h"

#include "engine/base/hash_kernels.h"

namespace cairn {
namespace {

bool cpu_has_avx2() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

const bool kUseAvx2 = cpu_has_avx2();

const internal::HashStreamKernel& stream_kernel() noexcept {
  return kUseAvx2 ? internal::kHashStreamAvx2 : internal::kHashStreamPortable;
}

}  // namespace

std::uint64_t hash64(Bytes bytes, std::uint64_t seed) noexcept {
  return kUseAvx2 ? internal::hash64_avx2(bytes.data(), bytes.size(), seed)
                  : internal::hash64_portable(bytes.data(), bytes.size(), seed);
}

void Hash64Stream::start(std::uint64_t seed) noexcept {
  stream_kernel().start(state_.data(), seed);
}

void Hash64Stream::add(Bytes bytes) noexcept {
  stream_kernel().add(state_.data(), bytes.data(), bytes.size());
}

std::uint64_t Hash64Stream::value() const noexcept { return stream_kernel().value(state_.data()); }

std::uint64_t block_seed(const ObjectId& object, std::uint32_t fragment,
                         std::uint32_t block) noexcept {
  std::array<std::byte, 24> place;
  store_le(place.data(), object.incarnation);
  store_le(place.data() + 8, object.counter);
  store_le(place.data() + 16, fragment);
  store_le(place.data() + 20, block);
  return hash64(place);
}

const char* hash_kernel_name() noexcept { return kUseAvx2 ? "avx2" : "portable"; }

}  // namespace cairn
