// I7, I10 over damage at rest: whatever happens to the bytes of a stopped target, each read gives
// the bytes that were acknowledged or an error, never other bytes and never "not found"; damage to
// a fragment is found by reading it and by a scrub; a damaged index is refused or rebuilt.
//
// Each case copies a small target, damages the copy, opens it and looks at everything.  Cases run
// in child processes, so that one that dies is a finding of its own and not the end of the test.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "bench/cairn_bench/target/fragment_io.h"
#include "engine/base/log.h"
#include "engine/base/random.h"
#include "engine/codec/hash_table.h"
#include "server/host/target_host.h"
#include "tests/crash/support/work_folder.h"

namespace {

/// Exit status of a worker in which a library's own assertion failed.
constexpr int kLibraryAsserted = 42;

}  // namespace

// Debian builds RocksDB with its assertions on, and some damage to an index file trips one.  Ours
// are CAIRN_CHECK, which does not come through here: an abort stays a failure of the test.
extern "C" [[noreturn]] void __assert_fail(const char* assertion, const char* file, unsigned line,
                                           const char*) noexcept {
  std::fprintf(stderr, "assertion of a library: %s at %s:%u\n", assertion, file, line);
  ::_exit(kLibraryAsserted);
}

namespace cairn::crash {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kObjectMax = 300 * kKiB;
constexpr std::uint64_t kObjects = 24;
constexpr std::uint64_t kSegment = 1 * kMiB;
constexpr std::uint32_t kWorkers = 2;

FragmentName name_of(std::uint64_t i) {
  FragmentName name;
  name.object = {1, i};
  return name;
}
bool is_deleted(std::uint64_t i) { return i % 5 == 0; }

std::uint64_t object_bytes(std::uint64_t i) { return SplitMix64(i).between(1, kObjectMax); }

/// The object's bytes at the front of `into`, zeros up to the next page.
MutableBytes object(std::uint64_t i, MutableBytes into) {
  const std::uint64_t bytes = object_bytes(i);
  const MutableBytes padded = into.first(round_up(bytes, kPageBytes));
  SplitMix64 random(i * 77);
  for (std::size_t at = 0; at < padded.size(); ++at) {
    padded[at] = at < bytes ? static_cast<std::byte>(random.next()) : std::byte{0};
  }
  return padded;
}

/// Where fragments lie in the pristine target.
struct Place {
  std::uint64_t object = 0;
  store::FragmentInfo info;
  std::string file;  ///< relative to the target
};

/// One damage: a change to some file of the copy.
struct Damage {
  std::string what;
  std::string file;                       ///< relative to the target
  std::optional<std::uint64_t> must_hit;  ///< this object's read and scrub must fail
  std::function<void(const std::string& path)> apply;
};

// ---- one case
// -------------------------------------------------------------------------------------

/// Everything wrong that one damage led to; empty: it was found or did no harm.
class Case {
 public:
  Case(std::string directory, const Damage& damage)
      : directory_(std::move(directory)), damage_(damage) {}

  std::vector<std::string> run() {
    if (open()) {
      look_at_everything(true);
    } else {
      rebuild();
    }
    return std::move(findings_);
  }

 private:
  void finding(const std::string& text) { findings_.push_back(damage_.what + ": " + text); }

  /// Each start is that of a new process: a host of its own.
  bool fresh_host() {
    host_.reset();
    auto host = server::TargetHost::make();
    if (host) host_ = *std::move(host);
    if (!host) finding(host.error().to_string());
    return host_ != nullptr;
  }

  bool open() {
    if (!fresh_host()) return false;
    store::StoreOptions options;
    options.directory = directory_;
    options.pieces = 2;  // nothing is put; touching memory is most of a start
    auto opened = host_->run(store::TargetStore::open(host_->env(), options));
    if (opened) {
      target_ = *std::move(opened);
      return true;
    }
    const Code code = opened.error().code();
    if (code != Code::kCorrupt && code != Code::kUnsupported && code != Code::kIo) {
      finding("open refuses with " + opened.error().to_string());
    }
    return false;
  }

  void close() {
    // A target that noticed damage may say so again here.
    host_->run(target_->close()).ignore();
    target_.reset();
  }

  /// What an operator does when a target refuses to open.
  void rebuild() {
    if (damage_.file.find("segments/") != std::string::npos) {
      return finding("damage in a segment keeps the whole target from opening");
    }
    if (!fresh_host()) return;
    const auto rebuilt = host_->run(store::rebuild_index(host_->env(), directory_));
    if (!rebuilt) return finding("rebuild-index: " + rebuilt.error().to_string());
    if (!open()) return finding("refused again after rebuild-index");
    look_at_everything(false);  // a rebuild may bring deleted ones back: documented
  }

  void look_at_everything(bool deleted_stay_away) {
    std::set<FragmentName> bad;
    for (std::uint64_t i = 1; i <= kObjects; ++i) {
      if (is_deleted(i)) {
        if (deleted_stay_away) look_at_deleted(i);
      } else {
        read(i, bad);
      }
    }
    list();
    scrub(bad);
    if (damage_.must_hit && !bad.contains(name_of(*damage_.must_hit))) {
      finding("reading " + to_string(name_of(*damage_.must_hit)) + " did not notice");
    }
    close();
  }

  void look_at_deleted(std::uint64_t i) {
    const auto found = target_->stat(name_of(i));
    if (found) finding(to_string(name_of(i)) + " was deleted and is there again");
  }

  /// By both ways of verifying.
  void read(std::uint64_t i, std::set<FragmentName>& bad) {
    const FragmentName name = name_of(i);
    const MutableBytes expected = object(i, expected_.memory());
    const auto got = host_->run(bench::get_verified(*target_, name, read_.memory()));
    if (!got) {
      bad.insert(name);
      if (got.error().code() == Code::kNotFound) finding(to_string(name) + " is called absent");
    } else if (!std::ranges::equal(read_.memory().first(*got), expected)) {
      finding(to_string(name) + " was read with other bytes");
    }
    if (!read_by_caller(i, expected)) bad.insert(name);
  }

  /// As a client does it that checks by itself; false: noticed something.
  bool read_by_caller(std::uint64_t i, Bytes expected) {
    const FragmentName name = name_of(i);
    const layout::Geometry geometry = bench::single_fragment(object_bytes(i));
    const auto table_bytes = host_->run(target_->read_table(name));
    if (!table_bytes) {
      if (table_bytes.error().code() == Code::kNotFound) finding(to_string(name) + " has no table");
      return false;
    }
    const auto table = codec::HashTableView::make(as_bytes(*table_bytes), geometry);
    if (!table) return finding(to_string(name) + " has a table of another object"), false;
    const MutableBytes into = read_.memory().first(expected.size());
    const store::ReadRange whole{0, into.size()};
    const Status done =
        host_->run(target_->read_fragment(name, whole, into, store::Verify::kByCaller));
    if (!done.ok()) {
      if (done.code() == Code::kNotFound) finding(to_string(name) + " is called absent");
      return false;
    }
    if (!codec::verify_blocks(*table, name.object, name.index, 0, into).ok()) return false;
    if (!std::ranges::equal(into, expected))
      finding(to_string(name) + " verified with other bytes");
    return true;
  }

  void list() {
    const auto page = target_->list(std::nullopt, kListPageMax);
    if (!page) return page.error().ignore();  // an error says nothing about what is there
    std::set<FragmentName> listed;
    for (const auto& info : *page) listed.insert(info.name);
    for (std::uint64_t i = 1; i <= kObjects; ++i) {
      if (!is_deleted(i) && !listed.contains(name_of(i))) {
        finding(to_string(name_of(i)) + " is missing in the list");
      }
    }
  }

  void scrub(const std::set<FragmentName>& bad) {
    const auto report = host_->run(target_->scrub({}));
    if (!report) return report.error().ignore();  // loud enough
    std::set<FragmentName> scrubbed;
    for (const auto& damage : report->damaged) scrubbed.insert(damage.name);
    for (const FragmentName& name : bad) {
      if (!scrubbed.contains(name)) finding("a scrub did not notice " + to_string(name));
    }
  }

  std::string directory_;
  const Damage& damage_;
  std::unique_ptr<server::TargetHost> host_;
  std::unique_ptr<store::TargetStore> target_;
  bench::AlignedBuffer expected_{round_up(kObjectMax, kPageBytes)};
  bench::AlignedBuffer read_{round_up(kObjectMax, kPageBytes)};
  std::vector<std::string> findings_;
};

// ---- all cases
// ------------------------------------------------------------------------------------

class DamagedTarget : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    set_log_level(LogLevel::kOff);  // damage is all this is about
    seed_ = seed_from_environment();
  }

  void SetUp() override {
    in_child([this] { return make_pristine(); });
  }

  /// Runs `work` in a child, because a ring and RocksDB's threads don't survive a fork.
  template <class Work>
  void in_child(Work work) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const Status done = work();
      if (!done.ok()) std::fprintf(stderr, "%s\n", done.to_string().c_str());
      std::fflush(stderr);
      ::_exit(done.ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "see above";
  }

  std::string pristine() const { return work_ / "pristine"; }

  /// Several segments, deleted fragments, an index of table files and a log, an orderly stop.
  Status make_pristine() {
    TRY(auto host, server::TargetHost::make());
    store::InitOptions init;
    init.capacity_bytes = 64 * kMiB;
    init.segment_bytes = kSegment;
    TRY_VOID(host->run(store::init_target(host->env(), pristine(), init)));
    const bench::AlignedBuffer buffer(kObjectMax + kPageBytes);
    for (int start = 0; start < 3; ++start) {
      host.reset();
      TRY(host, server::TargetHost::make());
      store::StoreOptions options;
      options.directory = pristine();
      TRY(const auto target, host->run(store::TargetStore::open(host->env(), options)));
      for (std::uint64_t i = 1; i <= kObjects; ++i) {
        if (i % 3 != static_cast<std::uint64_t>(start)) continue;
        const Bytes padded = object(i, buffer.memory());
        const bench::Object made = bench::make_object(name_of(i), object_bytes(i), padded);
        TRY_VOID(host->run(bench::put_object(*target, made, padded)));
        if (is_deleted(i)) {
          TRY_VOID(host->run(target->delete_fragments({name_of(i)}, Epoch{})));
        }
      }
      TRY_VOID(write_places(*target));
      TRY_VOID(host->run(target->close()));
    }
    return {};
  }

  /// For the parent, which opens no target itself.
  Status write_places(store::TargetStore& target) const {
    TRY(const auto page, target.list(std::nullopt, kListPageMax));
    std::ofstream out(work_ / "places");
    for (const store::FragmentInfo& info : page) {
      out << info.name.object.counter << ' ' << info.segment.value << ' ' << info.segment_offset
          << ' ' << info.header_bytes << ' ' << info.data_bytes << '\n';
    }
    return {};
  }

  std::vector<Place> places() const {
    std::vector<Place> out;
    std::ifstream in(work_ / "places");
    for (Place place; in >> place.object >> place.info.segment.value >> place.info.segment_offset >>
                      place.info.header_bytes >> place.info.data_bytes;) {
      char file[64];
      std::snprintf(file, sizeof file, "segments/%016llx.seg",
                    static_cast<unsigned long long>(place.info.segment.value));
      place.file = file;
      out.push_back(place);
    }
    return out;
  }

  /// What each case starts from; small, so a plain copy is quick.
  static void copy_target(const std::string& from, const std::string& to) {
    fs::remove_all(to);
    fs::copy(from, to, fs::copy_options::recursive);
  }

  /// Runs all, on kWorkers processes, and reports what they found.
  void check(const std::vector<Damage>& damages) {
    std::vector<pid_t> workers;
    // Which case each worker is at: the one to blame when it dies.
    auto* const at = static_cast<std::size_t*>(::mmap(nullptr, kWorkers * sizeof(std::size_t),
                                                      PROT_READ | PROT_WRITE,
                                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(at, MAP_FAILED);
    const auto start = [&](std::uint32_t worker, std::size_t first) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(run_share(damages, first, at[worker]));
      return child;
    };
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      workers.push_back(start(worker, worker));
      ASSERT_GE(workers.back(), 0);
    }
    std::size_t asserted = 0;
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      int status = 0;
      ASSERT_EQ(::waitpid(workers[worker], &status, 0), workers[worker]);
      if (WIFEXITED(status) && WEXITSTATUS(status) == kLibraryAsserted) {
        // Loud, so not undetected; it may only come from damage to the library's own files.
        EXPECT_TRUE(damages[at[worker]].file.starts_with("index/")) << damages[at[worker]].what;
        ++asserted;
        workers[worker] = start(worker, at[worker] + kWorkers);
        ASSERT_GE(workers[worker], 0);
        --worker;  // wait for it again
        continue;
      }
      EXPECT_FALSE(WIFSIGNALED(status))
          << "the process died of signal " << WTERMSIG(status)
          << " at: " << damages[at[worker]].what << " (seed " << seed_ << ')';
      EXPECT_TRUE(!WIFEXITED(status) || WEXITSTATUS(status) == 0)
          << "see the findings above; CAIRN_SEED=" << seed_ << " repeats them";
    }
    std::printf("%zu damages, %zu of them found by an assertion inside RocksDB\n", damages.size(),
                asserted);
    ::munmap(at, kWorkers * sizeof(std::size_t));
  }

  /// Every kWorkers-th case from `first` on.
  int run_share(const std::vector<Damage>& damages, std::size_t first, std::size_t& at) const {
    const std::string copy = work_ / ("copy" + std::to_string(first % kWorkers));
    int status = 0;
    for (at = first; at < damages.size(); at += kWorkers) {
      copy_target(pristine(), copy);
      damages[at].apply(copy + '/' + damages[at].file);
      for (const std::string& finding : Case(copy, damages[at]).run()) {
        std::fprintf(stderr, "UNDETECTED %s\n", finding.c_str());
        status = 1;
      }
    }
    std::fflush(stderr);
    return status;
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
