#include "tests/crash/damaged_target.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "bench/cairn_bench/target/fragment_io.h"
#include "engine/codec/hash_table.h"
#include "server/host/target_host.h"
#include "tests/crash/pristine_target.h"

namespace cairn::crash {
namespace {

using Finding = std::function<void(const std::string& text)>;

class Judge {
 public:
  Judge(std::string directory, const Damage& damage, const Finding& finding)
      : directory_(std::move(directory)), damage_(damage), finding_(finding) {}

  void run() {
    if (open()) {
      look_at_everything(true);
    } else {
      rebuild();
    }
  }

 private:
  void finding(const std::string& text) { finding_(damage_.what + ": " + text); }

  /// Each start is that of a new process: a host of its own.
  bool fresh_host() {
    host_.reset();
    auto host = server::TargetHost::make();
    if (!host) {
      finding(host.error().to_string());
      return false;
    }
    host_ = *std::move(host);
    return true;
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
    if (!found) return found.error().ignore();  // absent, or damage that was noticed
    finding(to_string(name_of(i)) + " was deleted and is there again");
  }

  /// By both ways of verifying.
  void read(std::uint64_t i, std::set<FragmentName>& bad) {
    const FragmentName name = name_of(i);
    const MutableBytes expected = fill_object(i, expected_.memory());
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
    if (!table) {
      finding(to_string(name) + " has a wrong table: " + table.error().to_string());
      return false;
    }
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
  const Finding& finding_;
  std::unique_ptr<server::TargetHost> host_;
  std::unique_ptr<store::TargetStore> target_;
  bench::AlignedBuffer expected_{round_up(kObjectMax, kPageBytes)};
  bench::AlignedBuffer read_{round_up(kObjectMax, kPageBytes)};
};

}  // namespace

void judge_damaged_target(const std::string& directory, const Damage& damage,
                          const std::function<void(const std::string& text)>& finding) {
  Judge(directory, damage, finding).run();
}

}  // namespace cairn::crash
