#include "bench/cairn_bench/target/throughput.h"

#include <algorithm>
#include <cstdio>

#include "bench/cairn_bench/target/bench_target.h"
#include "bench/cairn_bench/target/scratch_folder.h"
#include "engine/base/random.h"

namespace cairn::bench {
namespace {

constexpr std::uint64_t kLarge = 8 * kMiB;
constexpr std::uint64_t kSmall = 1 * kMiB;
/// Of kSmall, that a target with and one without an index write in turns.
constexpr std::size_t kTurnObjects = 64;

std::uint32_t depth_of(std::uint64_t fragment_bytes, std::uint32_t workers) {
  const std::uint64_t in_flight =
      workers * std::max<std::uint64_t>(1, fragment_bytes / kPieceBytes);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(kDeviceDepth, in_flight));
}

/// Readers that fill the device's queue.
std::uint32_t readers_of(std::uint64_t fragment_bytes, std::uint32_t writers) {
  const std::uint64_t fill = kDeviceDepth * kPieceBytes / fragment_bytes;
  const std::uint64_t fit = kReadBytesMax / fragment_bytes;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::max<std::uint64_t>(fill, writers), fit));
}

void fill_random(MutableBytes memory) {
  SplitMix64 random(1);
  for (std::size_t at = 0; at + 8 <= memory.size(); at += 8) {
    store_le(memory.data() + at, random.next());
  }
}

class Rounds {
 public:
  Rounds(const ScratchFolder& scratch, std::optional<Fio>& fio, const ThroughputOptions& options)
      : scratch_(scratch), fio_(fio), options_(options), payload_(kLarge) {
    fill_random(payload_.memory());
    const std::uint32_t writers = options.writers;
    const std::uint32_t small_readers = readers_of(kSmall, writers);
    const std::uint32_t large_readers = readers_of(kLarge, writers);
    result_.phases = {
        {"write_8mib", kLarge, depth_of(kLarge, writers), {}, {}},
        {"write_1mib", kSmall, depth_of(kSmall, writers), {}, {}},
        {"write_1mib_indexed", kSmall, depth_of(kSmall, writers), {}, {}},
        {"write_1mib_unindexed", kSmall, depth_of(kSmall, writers), {}, {}},
        {"read_8mib", kLarge, depth_of(kLarge, large_readers), {}, {}},
        {"read_1mib", kSmall, depth_of(kSmall, small_readers), {}, {}},
        {"read_8mib_verified_by_target", kLarge, depth_of(kLarge, large_readers), {}, {}},
    };
  }

  Result<Throughput> run() {
    TRY(target_, BenchTarget::make(scratch_.path() + "/target", true));
    // The first round warms pools, caches and the device up and counts for nothing.
    for (std::uint32_t round = 0; round <= options_.rounds; ++round) {
      if (round == 1) clear();
      std::fprintf(stderr, round == 0 ? "warm-up\n" : "round %u of %u\n", round, options_.rounds);
      TRY_VOID(large(round));
      TRY_VOID(small(round));
    }
    target_.reset();
    scratch_.remove("target");
    return std::move(result_);
  }

 private:
  Phase& phase(const std::string& name) { return const_cast<Phase&>(result_.phase(name)); }

  void clear() {
    for (Phase& each : result_.phases) {
      each.ours.clear();
      each.fio.clear();
    }
  }

  static void note(Phase& phase, const char* whose, std::vector<Rate>& rates, const Rate& rate) {
    rates.push_back(rate);
    std::fprintf(stderr, "  %-30s %-6s %7.0f MiB/s  %.3f CPU s/GiB\n", phase.name.c_str(), whose,
                 rate.mib_per_s(), rate.cpu_s_per_gib());
  }

  /// Ours and fio's, in turns first.
  template <class Ours>
  Status compare(std::uint32_t round, Phase& phase, bool write, Ours ours) {
    for (const bool fio_now : {round % 2 == 1, round % 2 == 0}) {
      if (!fio_now) {
        TRY(const Rate rate, ours());
        note(phase, "cairn", phase.ours, rate);
      } else if (fio_) {
        TRY(const Rate rate, write ? fio_->write(options_.round_bytes, phase.depth)
                                   : fio_->read(options_.round_bytes, phase.depth));
        note(phase, "fio", phase.fio, rate);
      }
    }
    return {};
  }

  std::vector<Object> next_objects(std::uint64_t fragment_bytes) {
    const std::uint64_t count = options_.round_bytes / fragment_bytes;
    counter_ += count;
    return make_objects(counter_ - count + 1, count, fragment_bytes, payload_.memory());
  }

  Status large(std::uint32_t round) {
    const auto objects = next_objects(kLarge);
    const std::uint32_t readers = readers_of(kLarge, options_.writers);
    TRY_VOID(compare(round, phase("write_8mib"), true,
                     [&] { return target_->write(objects, payload_.memory(), options_.writers); }));
    TRY_VOID(compare(round, phase("read_8mib"), false,
                     [&] { return target_->read(objects, readers, store::Verify::kByCaller); }));
    TRY_VOID(compare(round, phase("read_8mib_verified_by_target"), false,
                     [&] { return target_->read(objects, readers, store::Verify::kHere); }));
    return target_->remove(objects);
  }

  Status small(std::uint32_t round) {
    const auto objects = next_objects(kSmall);
    TRY_VOID(compare(round, phase("write_1mib"), true,
                     [&] { return target_->write(objects, payload_.memory(), options_.writers); }));
    TRY_VOID(compare(round, phase("read_1mib"), false, [&] {
      return target_->read(objects, readers_of(kSmall, options_.writers), store::Verify::kByCaller);
    }));
    TRY_VOID(target_->remove(objects));
    return index_turns(objects);
  }

  /// With the index and without it, in short turns: what it costs is less than what a device
  /// wanders within a second.  Both targets are fresh, as one without forgets what it holds.
  Status index_turns(const std::vector<Object>& objects) {
    {
      TRY(const auto indexed, BenchTarget::make(scratch_.path() + "/indexed", true));
      TRY(const auto unindexed, BenchTarget::make(scratch_.path() + "/unindexed", false));
      // Both have a segment open when the clock starts.
      TRY_VOID(indexed->write({objects.front()}, payload_.memory(), 1));
      TRY_VOID(unindexed->write({objects.front()}, payload_.memory(), 1));
      Rate with;
      Rate without;
      std::size_t turn = 0;
      for (std::size_t at = 1; at < objects.size(); at += kTurnObjects, ++turn) {
        const auto begin = objects.begin() + static_cast<std::ptrdiff_t>(at);
        const std::size_t count = std::min(kTurnObjects, objects.size() - at);
        const std::vector<Object> some(begin, begin + static_cast<std::ptrdiff_t>(count));
        for (const bool index_now : {turn % 2 == 0, turn % 2 == 1}) {
          BenchTarget& target = index_now ? *indexed : *unindexed;
          TRY(const Rate rate, target.write(some, payload_.memory(), options_.writers));
          (index_now ? with : without) += rate;
        }
      }
      note(phase("write_1mib_indexed"), "cairn", phase("write_1mib_indexed").ours, with);
      note(phase("write_1mib_unindexed"), "cairn", phase("write_1mib_unindexed").ours, without);
    }
    scratch_.remove("indexed");
    scratch_.remove("unindexed");
    return {};
  }

  const ScratchFolder& scratch_;
  std::optional<Fio>& fio_;
  const ThroughputOptions& options_;
  AlignedBuffer payload_;
  std::unique_ptr<BenchTarget> target_;
  std::uint64_t counter_ = 0;
  Throughput result_;
};

}  // namespace

double Phase::ratio() const {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(ours.size(), fio.size()); ++i) {
    ratios.push_back(ours[i].mib_per_s() / fio[i].mib_per_s());
  }
  return median(std::move(ratios));
}

double Phase::median_of(double (Rate::*figure)() const) const {
  std::vector<double> values;
  for (const Rate& rate : ours) values.push_back((rate.*figure)());
  return median(std::move(values));
}

const Phase& Throughput::phase(const std::string& name) const {
  const auto found = std::ranges::find(phases, name, &Phase::name);
  CAIRN_CHECK(found != phases.end());
  return *found;
}

double Throughput::index_cost() const {
  const Phase& with = phase("write_1mib_indexed");
  const Phase& without = phase("write_1mib_unindexed");
  std::vector<double> costs;
  for (std::size_t i = 0; i < std::min(with.ours.size(), without.ours.size()); ++i) {
    costs.push_back(1 - with.ours[i].mib_per_s() / without.ours[i].mib_per_s());
  }
  return median(std::move(costs));
}

Result<Throughput> measure_throughput(const ScratchFolder& scratch, std::optional<Fio>& fio,
                                      const ThroughputOptions& options) {
  return Rounds(scratch, fio, options).run();
}

}  // namespace cairn::bench
