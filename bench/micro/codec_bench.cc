// Hash, encode, reconstruct, with their ceilings beside them: memory copy, hash and code alone.
// GB/s are 10^9 bytes of the object in a second of one core's time.
//   build/release/bin/codec_bench [--benchmark_filter=...]
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <vector>

#include "engine/base/hash_kernels.h"
#include "engine/codec/object_codec.h"

namespace cairn {
namespace {

/// Page-aligned, like the pool's memory and the pieces that a target writes with O_DIRECT.
template <class T>
struct PageAllocator {
  using value_type = T;
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{kPageBytes}));
  }
  void deallocate(T* p, std::size_t) noexcept {
    ::operator delete(p, std::align_val_t{kPageBytes});
  }
  bool operator==(const PageAllocator&) const = default;
};
using Buffer = std::vector<std::byte, PageAllocator<std::byte>>;

Buffer filled(std::size_t bytes) {
  Buffer out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 2654435761u >> 24);
  return out;
}

/// Not SetBytesProcessed: it prints GiB/s and calls them G/s.
void count(benchmark::State& state, std::size_t bytes) {
  state.counters["GB/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(bytes) / 1e9,
                         benchmark::Counter::kIsRate);
}

void copy_memory(benchmark::State& state) {
  const Buffer from = filled(64 * kMiB);
  Buffer to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  count(state, from.size());
}
BENCHMARK(copy_memory);

void hash_blocks(benchmark::State& state) {
  const Buffer data = filled(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    for (std::size_t at = 0; at < data.size(); at += kBlockBytes) {
      benchmark::DoNotOptimize(hash64(Bytes(data).subspan(at, kBlockBytes), 7));
    }
  }
  count(state, data.size());
}
BENCHMARK(hash_blocks)->Arg(kBlockBytes)->Arg(64 * kMiB);

void hash_blocks_portable(benchmark::State& state) {
  const Buffer data = filled(kBlockBytes);
  for (auto _ : state) {
    benchmark::DoNotOptimize(internal::hash64_portable(data.data(), data.size(), 7));
  }
  count(state, data.size());
}
BENCHMARK(hash_blocks_portable);

struct Setup {
  Setup(std::uint8_t k, std::uint8_t m)
      : geometry{k, m, static_cast<std::uint32_t>(kUnitBytesDefault), 64 * kMiB},
        object(filled(geometry.object_bytes)),
        code(k, m),
        codec(code, geometry, {1, 2}),
        table(layout::table_bytes(geometry)),
        parity(m, Buffer(layout::fragment_bytes(geometry))) {
    outputs.assign(parity.begin(), parity.end());
    codec.encode(object, outputs, table);
  }
  layout::Geometry geometry;
  Buffer object;
  codec::ErasureCode code;
  codec::ObjectCodec codec;
  Buffer table;
  std::vector<Buffer> parity;
  std::vector<MutableBytes> outputs;
};

void encode_and_hash(benchmark::State& state) {
  Setup setup(static_cast<std::uint8_t>(state.range(0)), static_cast<std::uint8_t>(state.range(1)));
  for (auto _ : state) setup.codec.encode(setup.object, setup.outputs, setup.table);
  count(state, setup.object.size());
}
BENCHMARK(encode_and_hash)->Args({4, 2})->Args({8, 2});

/// What a target and a reader do: one 16 MiB fragment against the table.
void verify_fragment(benchmark::State& state) {
  Setup setup(4, 2);
  const auto table = codec::HashTableView::make(setup.table, setup.geometry);
  for (auto _ : state) {
    const Status done = codec::verify_blocks(*table, {1, 2}, 4, 0, setup.parity[0]);
    if (!done.ok()) state.SkipWithError(done.to_string().c_str());
  }
  count(state, setup.parity[0].size());
}
BENCHMARK(verify_fragment);

constexpr std::size_t kStepBytes = 2 * kKiB;
/// In steps of 2 KiB and hot, as ObjectCodec does it.
void encode_only(benchmark::State& state) {
  const auto k = static_cast<std::uint32_t>(state.range(0));
  const codec::ErasureCode code(k, 2);
  const Buffer data = filled(k * kBlockBytes);
  Buffer parity(2 * kBlockBytes);
  const std::array<MutableBytes, 2> fragments = {MutableBytes(parity).first(kBlockBytes),
                                                 MutableBytes(parity).last(kBlockBytes)};
  for (auto _ : state) {
    for (std::size_t at = 0; at < kBlockBytes; at += kStepBytes) {
      const MutableBytes to[] = {fragments[0].subspan(at, kStepBytes),
                                 fragments[1].subspan(at, kStepBytes)};
      for (std::uint32_t i = 0; i < k; ++i) {
        code.add(i, Bytes(data).subspan(i * kBlockBytes + at, kStepBytes), to);
      }
    }
    benchmark::ClobberMemory();
  }
  count(state, data.size());
}
BENCHMARK(encode_only)->Arg(4)->Arg(8);

/// Data fragments 0 .. lost-1 are gone; bytes are those of the object.
void reconstruct(benchmark::State& state) {
  Setup setup(4, 2);
  const auto lost = static_cast<std::uint32_t>(state.range(0));
  std::vector<Buffer> fragments(4, Buffer(layout::fragment_bytes(setup.geometry)));
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::size_t at = 0;
    for (const Bytes run : codec::data_runs(setup.object, setup.geometry, i)) {
      std::memcpy(fragments[i].data() + at, run.data(), run.size());
      at += run.size();
    }
  }
  std::vector<std::uint32_t> sources, wanted;
  std::vector<Bytes> bytes;
  std::vector<MutableBytes> outputs;
  for (std::uint32_t i = 0; i < 4; ++i) {
    if (i < lost) {
      wanted.push_back(i);
      outputs.emplace_back(fragments[i]);
      sources.push_back(4 + i);
      bytes.emplace_back(setup.parity[i]);
    } else {
      sources.push_back(i);
      bytes.emplace_back(fragments[i]);
    }
  }
  const auto table = codec::HashTableView::make(setup.table, setup.geometry);
  for (auto _ : state) {
    const Status done = setup.codec.reconstruct(sources, bytes, wanted, outputs, *table);
    if (!done.ok()) state.SkipWithError(done.to_string().c_str());
  }
  count(state, setup.object.size());
}
BENCHMARK(reconstruct)->Arg(1)->Arg(2);

}  // namespace
}  // namespace cairn
BENCHMARK_MAIN();
