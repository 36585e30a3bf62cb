#include "engine/io/piece_pool.h"

#include <sys/mman.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "engine/base/log.h"
#include "engine/base/units.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define CAIRN_POISON(memory) ASAN_POISON_MEMORY_REGION((memory).data(), (memory).size())
#define CAIRN_UNPOISON(memory) ASAN_UNPOISON_MEMORY_REGION((memory).data(), (memory).size())
#else
#define CAIRN_POISON(memory) static_cast<void>(memory)
#define CAIRN_UNPOISON(memory) static_cast<void>(memory)
#endif

namespace cairn::io {
namespace {

constexpr std::uint64_t kHugePageBytes = 2 * kMiB;
/// An inaccessible page on each side: an overrun faults, and the kernel can't merge the mapping
/// with a neighbour, so its line in smaps speaks of this pool alone.
constexpr std::uint64_t kGuardBytes = kPageBytes;

std::uint64_t mapped_bytes(std::uint64_t memory_bytes) {
  return round_up(memory_bytes, kHugePageBytes);
}

/// Maps `bytes` (a multiple of the huge page) at a huge page boundary between two guards; null with
/// errno set when the system refuses.
std::byte* map_aligned(std::uint64_t bytes) {
  const std::uint64_t reserved = bytes + 2 * kHugePageBytes;
  void* base = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<std::uintptr_t>(base);
  const std::uint64_t lead = round_up(start + kGuardBytes, kHugePageBytes) - start;
  auto* memory = static_cast<std::byte*>(base) + lead;
  const std::uint64_t tail = reserved - lead - bytes - kGuardBytes;
  ::munmap(base, lead - kGuardBytes);
  ::munmap(memory + bytes + kGuardBytes, tail);
  if (::mprotect(memory, bytes, PROT_READ | PROT_WRITE) != 0) {
    const int error = errno;
    ::munmap(memory - kGuardBytes, bytes + 2 * kGuardBytes);
    errno = error;
    return nullptr;
  }
  return memory;
}

void unmap(MutableBytes memory) {
  ::munmap(memory.data() - kGuardBytes, mapped_bytes(memory.size()) + 2 * kGuardBytes);
}

/// Makes every page present now: the first touch costs more than the write it would delay.
int touch(MutableBytes memory) {
  if (::madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE) == 0) return 0;
  if (errno != EINVAL) return errno;
  for (std::uint64_t at = 0; at < memory.size(); at += kPageBytes) {  // before Linux 5.14
    const_cast<volatile std::byte&>(memory[at]) = std::byte{0};
  }
  return 0;
}

/// What /proc/self/smaps says about the mapping that starts at `memory`: bytes in huge pages.
std::uint64_t huge_bytes_of(const std::byte* memory) {
  std::FILE* smaps = std::fopen("/proc/self/smaps", "re");
  if (smaps == nullptr) return 0;
  const auto wanted = reinterpret_cast<std::uintptr_t>(memory);
  char line[512];
  bool inside = false;
  std::uint64_t kib = 0;
  while (std::fgets(line, sizeof line, smaps) != nullptr) {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) == 2)
      inside = start == wanted;
    if (inside && std::sscanf(line, "AnonHugePages: %" SCNu64 " kB", &kib) == 1) break;
  }
  std::fclose(smaps);
  return kib * kKiB;
}

}  // namespace

Piece& Piece::operator=(Piece&& other) noexcept {
  if (this == &other) return *this;
  release();
  pool_ = std::exchange(other.pool_, nullptr);
  memory_ = std::exchange(other.memory_, {});
  return *this;
}

void Piece::release() noexcept {
  if (pool_ == nullptr) return;
  std::exchange(pool_, nullptr)->give_back(std::exchange(memory_, {}));
}

Result<std::unique_ptr<PiecePool>> PiecePool::make(const Executor& executor, std::uint32_t pieces,
                                                   std::uint64_t piece_bytes) {
  if (pieces == 0) return fail(Code::kInvalid, "a piece pool needs at least one piece");
  CAIRN_CHECK(piece_bytes > 0 && is_aligned(piece_bytes, kPageBytes));
  const std::uint64_t bytes = pieces * piece_bytes;
  const std::string what = "piece pool of " + format_bytes(bytes);
  std::byte* memory = map_aligned(mapped_bytes(bytes));
  if (memory == nullptr) {
    return fail(Code::kUnavailable, what + ": " + std::strerror(errno) +
                                        "; raise the limit of address space or take fewer pieces");
  }
  const MutableBytes whole(memory, mapped_bytes(bytes));
  const bool advised = ::madvise(whole.data(), whole.size(), MADV_HUGEPAGE) == 0;
  // No child process needs it, and a fork would copy every page that a device has pinned.
  ::madvise(whole.data(), whole.size(), MADV_DONTFORK);
  if (const int error = touch(whole); error != 0) {
    unmap(whole);
    return fail(Code::kUnavailable,
                what + ": " + std::strerror(error) + "; free memory or take fewer pieces");
  }
  const std::uint64_t huge = advised ? huge_bytes_of(memory) : 0;
  const bool all_huge = huge >= whole.size();
  if (!all_huge) {
    log_warn("io", what + " has only " + format_bytes(huge) +
                       " in huge pages; I/O will cost about a fifth more CPU (enable "
                       "transparent huge pages with madvise, or free contiguous memory)");
  }
  return std::unique_ptr<PiecePool>(
      new PiecePool(executor, whole.first(bytes), piece_bytes, all_huge));
}

PiecePool::PiecePool(const Executor& executor, MutableBytes memory, std::uint64_t piece_bytes,
                     bool huge_pages)
    : memory_(memory),
      piece_bytes_(piece_bytes),
      huge_pages_(huge_pages),
      permits_(executor, memory.size() / piece_bytes) {
  free_.reserve(memory.size() / piece_bytes);
  // Taken from the back, so the lowest addresses first: a quiet target touches few pieces.
  for (std::uint64_t end = memory.size(); end > 0; end -= piece_bytes) {
    free_.push_back(memory.data() + end - piece_bytes);
  }
  CAIRN_POISON(memory_);
}

PiecePool::~PiecePool() {
  CAIRN_CHECK(free_.size() * piece_bytes_ == memory_.size());  // a piece outlived its pool
  CAIRN_UNPOISON(memory_);
  unmap(memory_);
}

Task<Piece> PiecePool::acquire() {
  co_await permits_.acquire(1);
  const MutableBytes memory(free_.back(), piece_bytes_);
  free_.pop_back();
  CAIRN_UNPOISON(memory);
  co_return Piece(this, memory);
}

void PiecePool::give_back(MutableBytes memory) noexcept {
  CAIRN_POISON(memory);
  free_.push_back(memory.data());  // within the reserve: never allocates
  permits_.release(1);
}

}  // namespace cairn::io
