// A target's own records: the fragment header that every put writes and every scan judges, and the
// index record behind it, on RocksDB as a target opens it, without a sync.
//   build/release/bin/store_bench [--benchmark_filter=...]
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/platform/kv/rocksdb_stores.h"
#include "engine/store/fragment_header.h"
#include "engine/store/fragment_index.h"

namespace cairn::store {
namespace {

/// The header of a 64 MiB object's fragment, with a hash of every block of all k+m fragments.
struct Sample {
  Sample(std::uint8_t data, std::uint8_t parity) {
    header.name.object = {1, 1};
    header.geometry.data = data;
    header.geometry.parity = parity;
    header.geometry.object_bytes = 64 * kMiB;
    table.resize(layout::table_bytes(header.geometry), std::byte{0x5a});
    header.table_hash = hash64(table);
    bytes.resize(header_bytes(header.geometry));
  }
  void encode() { encode_header(header, table, bytes); }

  FragmentHeader header;
  std::vector<std::byte> table;
  std::vector<std::byte> bytes;
};

Sample sample_of(const benchmark::State& state) {
  return {static_cast<std::uint8_t>(state.range(0)), static_cast<std::uint8_t>(state.range(1))};
}

void encode_fragment_header(benchmark::State& state) {
  Sample sample = sample_of(state);
  for (auto _ : state) {
    sample.encode();
    benchmark::ClobberMemory();
  }
}
BENCHMARK(encode_fragment_header)->Args({1, 0})->Args({4, 2})->Args({8, 2});

void decode_fragment_header(benchmark::State& state) {
  Sample sample = sample_of(state);
  sample.encode();
  for (auto _ : state) {
    const auto decoded = decode_header(sample.bytes);
    CAIRN_CHECK(decoded.has_value());
    benchmark::DoNotOptimize(decoded->header_bytes);
  }
}
BENCHMARK(decode_fragment_header)->Args({1, 0})->Args({4, 2})->Args({8, 2});

/// An index in a folder that goes with it.
class IndexFolder {
 public:
  IndexFolder() {
    std::string name = std::filesystem::temp_directory_path() / "cairn-bench-XXXXXX";
    CAIRN_CHECK(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    auto opened = FragmentIndex::open(*stores_, folder_ + "/index", env::KeyValueOpen::kCreate);
    CAIRN_CHECK(opened.has_value());
    index_ = *std::move(opened);
  }
  ~IndexFolder() {
    index_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  IndexFolder(const IndexFolder&) = delete;
  IndexFolder& operator=(const IndexFolder&) = delete;
  FragmentIndex& operator*() { return *index_; }

 private:
  std::string folder_;
  std::unique_ptr<env::KeyValueStores> stores_ =
      platform::make_rocksdb_stores(platform::LogDamage::kKeepPrefix);
  std::unique_ptr<FragmentIndex> index_;
};

FragmentName name_of(std::uint64_t number) {
  FragmentName name;
  name.object = {1, number};
  return name;
}

FragmentRecord record_of(std::uint64_t number) {
  return {.extent = {SegmentNumber{1}, number * kMiB, kMiB},
          .header_bytes = static_cast<std::uint32_t>(kPageBytes),
          .table_hash = number};
}

/// One write for all fragments that shared a flush.
void index_fragments(benchmark::State& state) {
  IndexFolder index;
  std::uint64_t number = 0;
  for (auto _ : state) {
    IndexChange change;
    for (std::int64_t i = 0; i < state.range(0); ++i, ++number) {
      change.put_fragment(name_of(number), record_of(number));
    }
    change.put_segment(SegmentNumber{1}, {number, number * kMiB});
    CAIRN_CHECK((*index).apply(change).ok());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(number));
}
BENCHMARK(index_fragments)->Arg(1)->Arg(2)->Arg(16);

void find_fragment(benchmark::State& state) {
  constexpr std::uint64_t kFragments = 100'000;
  IndexFolder index;
  for (std::uint64_t number = 0; number < kFragments; ++number) {
    IndexChange change;
    change.put_fragment(name_of(number), record_of(number));
    CAIRN_CHECK((*index).apply(change).ok());
  }
  std::uint64_t at = 0;
  for (auto _ : state) {
    at = (at + 7919) % kFragments;
    const auto found = (*index).find(name_of(at));
    CAIRN_CHECK(found.has_value() && found->has_value());
  }
}
BENCHMARK(find_fragment);

}  // namespace
}  // namespace cairn::store

BENCHMARK_MAIN();
