// RocksDB against the simulator's model: whatever sequence of calls, both give the same answers. So
// what the simulator proves with the model holds for the real store.
#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "tests/sim/support/process.h"
#include "tests/sim/support/seeds.h"
#include "tests/unit/kv/kv_world.h"

namespace cairn {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

Rows rest_of(env::KeyValueScan& scan) {
  Rows rows;
  for (;;) {
    const auto row = scan.next();
    if (!row.has_value()) {
      ADD_FAILURE() << row.error().to_string();
      return rows;
    }
    if (!row->has_value()) return rows;
    rows.emplace_back((*row)->key, (*row)->value);
  }
}

class Pair {
 public:
  explicit Pair(std::uint64_t seed) : random_(seed), scheduler_(seed) {
    disk_.add_directory("/d");
    real_ = world_.opened(env::KeyValueOpen::kCreate);
    model_ = *process_.env().key_values.open("/d/s", kFamilies, env::KeyValueOpen::kCreate);
  }

  void step() {
    switch (random_.below(12)) {
      case 0:
        return reopen();
      case 1:
        return sync();
      case 2:
      case 3:
        return get();
      case 4:
      case 5:
        return scan();
      case 6:
        return scan_while_writing();
      default:
        return write();
    }
  }
  void compare_all() {
    for (const env::ColumnFamily family : {0u, 1u}) {
      EXPECT_EQ(rest_of(*real_->scan(family, "", "")), rest_of(*model_->scan(family, "", "")));
    }
  }

 private:
  static inline const std::vector<std::string> kFamilies = {"one", "two"};

  env::ColumnFamily family() { return static_cast<env::ColumnFamily>(random_.below(2)); }
  /// Few keys, so that operations meet; some with bytes that text functions trip over.
  std::string key() {
    std::string key(1, static_cast<char>(random_.below(4) * 85));
    for (std::uint64_t n = random_.below(3); n > 0; --n) {
      key += static_cast<char>("\0a\xff"[random_.below(3)]);
    }
    return key;
  }
  env::WriteBatch batch() {
    env::WriteBatch out;
    for (std::uint64_t n = random_.below(6); n > 0; --n) {
      switch (random_.below(6)) {
        case 0: {
          std::string first = key(), end = key();
          if (end < first) std::swap(first, end);
          out.erase_range(family(), std::move(first), std::move(end));
          break;
        }
        case 1:
          out.erase(family(), key());
          break;
        default:
          out.put(family(), key(), std::string(random_.below(40), 'v'));
          break;
      }
    }
    return out;
  }

  void write() {
    const env::WriteBatch both = batch();
    EXPECT_TRUE(real_->write(both).ok());
    EXPECT_TRUE(model_->write(both).ok());
  }
  void get() {
    const env::ColumnFamily from = family();
    const std::string wanted = key();
    const auto real = real_->get(from, wanted);
    ASSERT_TRUE(real.has_value()) << real.error().to_string();
    EXPECT_EQ(*real, *model_->get(from, wanted));
  }
  void scan() {
    const env::ColumnFamily from = family();
    const std::string first = random_.one_in(3) ? "" : key();
    const std::string end = random_.one_in(3) ? "" : key();
    EXPECT_EQ(rest_of(*real_->scan(from, first, end)), rest_of(*model_->scan(from, first, end)));
  }
  void scan_while_writing() {
    const env::ColumnFamily from = family();
    const auto real = real_->scan(from, "", "");
    const auto model = model_->scan(from, "", "");
    write();
    write();
    EXPECT_EQ(rest_of(*real), rest_of(*model));
  }
  void sync() {
    EXPECT_TRUE(world_.run(real_->sync()).ok());
    EXPECT_TRUE(scheduler_.run(model_->sync()).ok());
  }
  void reopen() {
    real_.reset();
    model_.reset();
    const auto mode =
        random_.one_in(3) ? env::KeyValueOpen::kReadOnly : env::KeyValueOpen::kExisting;
    real_ = world_.opened(mode);
    model_ = *process_.env().key_values.open("/d/s", kFamilies, mode);
    if (mode != env::KeyValueOpen::kReadOnly) return;
    compare_all();
    const env::WriteBatch both = batch();
    EXPECT_EQ(real_->write(both).reason(), Reason::kReadOnly);
    EXPECT_EQ(model_->write(both).reason(), Reason::kReadOnly);
    EXPECT_EQ(world_.run(real_->sync()).reason(), Reason::kReadOnly);
    EXPECT_EQ(scheduler_.run(model_->sync()).reason(), Reason::kReadOnly);
    real_.reset();
    model_.reset();
    real_ = world_.opened(env::KeyValueOpen::kExisting);
    model_ = *process_.env().key_values.open("/d/s", kFamilies, env::KeyValueOpen::kExisting);
  }

  SplitMix64 random_;
  KvWorld world_;
  sim::SimScheduler scheduler_;
  sim::SimDisk disk_{scheduler_};
  sim::SimProcess process_{disk_};
  std::unique_ptr<env::KeyValue> real_;
  std::unique_ptr<env::KeyValue> model_;
};

TEST(RocksStores, AnswersLikeTheModelWhateverIsAsked) {
  sim::for_each_seed(
      [](std::uint64_t seed) {
        Pair pair(seed);
        for (int i = 0; i < 100 && !testing::Test::HasFailure(); ++i) pair.step();
        pair.compare_all();
      },
      40);
}

TEST(RocksStores, AnswersLikeTheModelAboutWhatIsThere) {
  KvWorld world;
  sim::SimScheduler scheduler(1);
  sim::SimDisk disk(scheduler);
  sim::SimProcess process(disk);
  const auto both = [&](env::KeyValueOpen mode) {
    auto real = world.open(mode);
    auto model = process.env().key_values.open("/s", {"one", "two"}, mode);
    const Code code = real ? Code::kOk : real.error().code();
    EXPECT_EQ(code, model ? Code::kOk : model.error().code());
    return code;
  };
  EXPECT_EQ(both(env::KeyValueOpen::kExisting), Code::kNotFound);
  EXPECT_EQ(both(env::KeyValueOpen::kReadOnly), Code::kNotFound);
  EXPECT_EQ(both(env::KeyValueOpen::kCreate), Code::kOk);
  EXPECT_EQ(both(env::KeyValueOpen::kCreate), Code::kExists);
  EXPECT_EQ(both(env::KeyValueOpen::kReadOnly), Code::kOk);
  EXPECT_TRUE(world.stores->destroy(world.path).ok());
  EXPECT_TRUE(process.env().key_values.destroy("/s").ok());
  EXPECT_EQ(both(env::KeyValueOpen::kExisting), Code::kNotFound);
  EXPECT_TRUE(world.stores->destroy(world.path).ok()) << "nothing there is no error";
  EXPECT_EQ(both(env::KeyValueOpen::kCreate), Code::kOk);
}

}  // namespace
}  // namespace cairn
