// I7, I10 over damage at rest: whatever happens to the bytes of a stopped target, each read gives
// the bytes that were acknowledged or an error, never other bytes and never "not found"; damage to
// a fragment is found by reading it and by a scrub; a damaged index is refused or rebuilt.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/base/log.h"
#include "engine/base/random.h"
#include "tests/crash/damage_workers.h"
#include "tests/crash/pristine_target.h"
#include "tests/crash/support/work_folder.h"

namespace cairn::crash {
namespace {

namespace fs = std::filesystem;

class DamagedTarget : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    set_log_level(LogLevel::kOff);  // damage is all this is about
    seed_ = seed_from_environment();
  }

  /// In a child: the workers are forked from a process that never opened a target.
  void SetUp() override {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const Status made = make_pristine_target(pristine(), work_ / "places");
      if (!made.ok()) std::fprintf(stderr, "%s\n", made.to_string().c_str());
      ::_exit(made.ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "see above";
  }

  std::string pristine() const { return work_ / "pristine"; }
  std::vector<Place> places() const { return read_places(work_ / "places"); }

  void check(const std::vector<Damage>& damages) const {
    const DamageReport report = run_damages(damages, pristine(), work_.path());
    std::printf("%zu damages, %llu of them found by an assertion inside RocksDB\n", damages.size(),
                static_cast<unsigned long long>(report.asserted));
    EXPECT_EQ(report.findings, 0U)
        << "see the lines UNDETECTED above; CAIRN_SEED=" << seed_ << " repeats them";
    for (const std::string& death : report.deaths) {
      ADD_FAILURE() << "the process died: " << death << "; CAIRN_SEED=" << seed_ << " repeats it";
    }
  }

  static void flip(const std::string& path, std::uint64_t offset, std::uint32_t bit) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ (1 << bit)));
  }

  Damage flip_at(std::string file, std::uint64_t offset, SplitMix64& random,
                 std::optional<std::uint64_t> must_hit) const {
    const auto bit = static_cast<std::uint32_t>(random.below(8));
    return {"bit " + std::to_string(bit) + " of byte " + std::to_string(offset) + " of " + file,
            file, must_hit, [offset, bit](const std::string& path) { flip(path, offset, bit); }};
  }

  /// In the index or beside it, any file that is not empty; the larger the likelier, within reason.
  Damage flip_in(const std::string& folder, SplitMix64& random) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(pristine() + folder)) {
      const std::string name = entry.path().filename();
      // RocksDB never reads these back.
      if (name.starts_with("LOG") || name.starts_with("OPTIONS")) continue;
      if (entry.is_regular_file() && entry.file_size() > 0 && name != "ballast") {
        files.push_back(entry.path());
      }
    }
    std::ranges::sort(files);
    const fs::path& file = files[random.below(files.size())];
    return flip_at(fs::relative(file, pristine()), random.below(fs::file_size(file)), random,
                   std::nullopt);
  }

  Damage random_flip(SplitMix64& random, const std::vector<Place>& all) const {
    const Place& place = all[random.below(all.size())];
    const std::uint64_t begin = place.info.segment_offset;
    switch (random.below(10)) {
      case 0:
      case 1:
      case 2:  // header and table, padding included: the header's hash covers it
        return flip_at(place.file, begin + random.below(place.info.header_bytes), random,
                       place.object);
      case 3:
      case 4:
      case 5:
        return flip_at(place.file,
                       begin + place.info.header_bytes + random.below(place.info.data_bytes),
                       random, place.object);
      case 6:
        return flip_in("", random);
      default:
        return flip_in("/index", random);
    }
  }

  const WorkFolder work_;
  static inline std::uint64_t seed_ = 0;
};

TEST_F(DamagedTarget, NoFlippedBitGoesUndetected) {
  const std::uint64_t flips = number_from_environment("CAIRN_BIT_FLIPS", 1000);
  SplitMix64 random(seed_);
  const std::vector<Place> all = places();
  ASSERT_GT(all.size(), kObjects / 2);
  std::vector<Damage> damages;
  for (std::uint64_t i = 0; i < flips; ++i) damages.push_back(random_flip(random, all));
  check(damages);
}

TEST_F(DamagedTarget, ZeroedSwappedAndTruncatedFragmentsAreDetected) {
  SplitMix64 random(seed_);
  const std::vector<Place> all = places();
  std::vector<Damage> damages;
  for (const Place& place : all) {
    const std::uint64_t begin = place.info.segment_offset + place.info.header_bytes;
    const std::uint64_t page =
        begin +
        round_down(random.below(std::min(place.info.data_bytes, object_bytes(place.object))),
                   kPageBytes);
    damages.push_back({"zeroed page at " + std::to_string(page) + " of " + place.file, place.file,
                       place.object, [page](const std::string& path) {
                         std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
                         file.seekp(static_cast<std::streamoff>(page));
                         file.write(std::string(kPageBytes, '\0').data(), kPageBytes);
                       }});
    damages.push_back({"truncated in the middle of a fragment: " + place.file, place.file,
                       place.object,
                       [begin](const std::string& path) { fs::resize_file(path, begin + 1); }});
    // Another fragment, header and all, over this one's beginning: a misdirected write.
    const Place& other = all[random.below(all.size())];
    if (other.object == place.object) continue;
    const std::uint64_t from = other.info.segment_offset;
    const std::uint64_t to = place.info.segment_offset;
    const std::string source = pristine() + '/' + other.file;
    damages.push_back({"the first page of " + other.file + '@' + std::to_string(from) + " over " +
                           place.file + '@' + std::to_string(to),
                       place.file, place.object, [from, to, source](const std::string& path) {
                         std::ifstream in(source, std::ios::binary);
                         in.seekg(static_cast<std::streamoff>(from));
                         std::string page_bytes(kPageBytes, '\0');
                         in.read(page_bytes.data(), kPageBytes);
                         std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
                         file.seekp(static_cast<std::streamoff>(to));
                         file.write(page_bytes.data(), kPageBytes);
                       }});
  }
  check(damages);
}

}  // namespace
}  // namespace cairn::crash
