#include "tests/sim/store_world.h"

#include <algorithm>
#include <cstring>

#include "engine/base/log.h"
#include "engine/codec/hash_table.h"

namespace cairn::sim {
namespace {

constexpr const char* kFolder = "/target";
constexpr std::uint64_t kSegmentBytes = 2 * kMiB;

SimDiskOptions with_capacity(SimDiskOptions options) {
  options.capacity_bytes = std::min<std::uint64_t>(options.capacity_bytes, 96 * kMiB);
  return options;
}

}  // namespace

std::string TestFragment::data() const {
  std::string out(layout::fragment_bytes(geometry), '\0');
  SplitMix64 bytes(name.object.counter * 1000 + name.placement.value);
  for (std::size_t at = 0; at + 8 <= out.size(); at += 8) {
    store_le<std::uint64_t>(out.data() + at, bytes.next());
  }
  return out;
}

std::string TestFragment::table() const {
  std::string table(layout::table_bytes(geometry), '\x5a');
  if (name.index < geometry.fragments()) {
    codec::fill_table(std::as_writable_bytes(std::span(table)), geometry, name.object, name.index,
                      0, as_bytes(data()));
  }
  return table;
}

StoreWorld::StoreWorld(std::uint64_t seed, SimDiskOptions disk_options)
    : scheduler(seed), disk(scheduler, with_capacity(disk_options)), random(seed ^ 0x5eed) {
  set_log_level(LogLevel::kOff);  // faults are what these tests are about
  process = std::make_unique<SimProcess>(disk);
  store::InitOptions init;
  init.segment_bytes = kSegmentBytes;
  const Status made = scheduler.run(store::init_target(process->env(), kFolder, init));
  CAIRN_CHECK(made.ok());
}

StoreWorld::~StoreWorld() {
  if (target) close().ignore();
}

store::StoreOptions StoreWorld::options() const {
  store::StoreOptions options;
  options.directory = kFolder;
  options.pieces = 4;
  options.open_files_max = 4;
  options.mark_every_bytes = 1 * kMiB;
  options.mark_every_ms = 200;
  return options;
}

Status StoreWorld::open() {
  auto opened = scheduler.run(store::TargetStore::open(process->env(), options()));
  if (!opened) return std::move(opened).error();
  target = *std::move(opened);
  ++lives_;
  return {};
}

Status StoreWorld::close() {
  Status closed = scheduler.run(target->close());
  target.reset();
  return closed;
}

void StoreWorld::stop(bool power_lost) {
  power_lost ? process->crash() : process->kill();
  // What was on its way ends with errors by itself; the model has it as kEither already.
  scheduler.run_for(std::chrono::seconds(2));
  if (target) {
    scheduler.run(target->close()).ignore();
    target.reset();
  }
  scheduler.run_until_idle();
  process = std::make_unique<SimProcess>(disk);
}

void StoreWorld::violation(const FragmentName& name, const std::string& what) {
  violations.push_back("fragment " + to_string(name) + ": " + what);
}

TestFragment StoreWorld::make_fragment() {
  TestFragment fragment;
  fragment.name.object = {lives_ + 1, next_counter_++};
  fragment.name.placement.value = static_cast<std::uint32_t>(random.below(3));
  const bool coded = random.one_in(2);
  fragment.geometry.data = coded ? 2 : 1;
  fragment.geometry.parity = coded ? 1 : 0;
  fragment.geometry.unit_bytes = static_cast<std::uint32_t>(kBlockBytes);
  fragment.geometry.object_bytes = random.between(1, fragment_pages_max * kPageBytes);
  fragment.name.index = static_cast<std::uint8_t>(random.below(coded ? 3 : 1));
  return fragment;
}

std::optional<TestFragment> StoreWorld::pick() {
  if (model.empty()) return std::nullopt;
  auto entry = model.begin();
  std::advance(entry, static_cast<std::ptrdiff_t>(random.below(model.size())));
  return entry->second.first;
}

Task<Status> StoreWorld::feed(store::PutSession& session, std::string data) {
  std::uint64_t at = 0;
  while (session.remaining() > 0) {
    CO_TRY(const MutableBytes room, co_await session.next_buffer());
    std::uint64_t some = room.size();
    if (random.one_in(3)) some = random.between(1, some);
    std::memcpy(room.data(), data.data() + at, some);
    CO_TRY_VOID(session.filled(some));
    at += some;
  }
  co_return Status();
}

Task<Status> StoreWorld::put(TestFragment fragment) {
  const std::string table = fragment.table();
  store::PutRequest request;
  request.name = fragment.name;
  request.geometry = fragment.geometry;
  request.table = as_bytes(table);
  const auto before = model.find(fragment.name);
  const bool was_present = before != model.end() && before->second.second == Expect::kPresent;
  auto session = co_await target->begin_put(request);
  if (!session) co_return std::move(session).error();
  if (!was_present) model[fragment.name] = {fragment, Expect::kEither};
  CO_TRY_VOID(co_await feed(*session, fragment.data()));
  Status done = co_await session->finish();
  if (done.ok()) {
    model[fragment.name] = {fragment, Expect::kPresent};
    ++acknowledged_puts;
  }
  co_return done;
}

Task<Status> StoreWorld::erase(std::vector<FragmentName> names) {
  std::vector<FragmentName> known;
  for (const FragmentName& name : names) {
    const auto entry = model.find(name);
    if (entry == model.end() || entry->second.second == Expect::kAbsent) continue;
    entry->second.second = Expect::kEither;
    known.push_back(name);
  }
  Status done = co_await target->delete_fragments(names, epoch);
  if (done.ok()) {
    ++acknowledged_deletes;
    for (const FragmentName& name : known) model.at(name).second = Expect::kAbsent;
  }
  co_return done;
}

Task<Status> StoreWorld::read_whole(TestFragment fragment, std::string* out) {
  const std::uint64_t bytes = layout::fragment_bytes(fragment.geometry);
  AlignedBuffer buffer(bytes);
  CO_TRY_VOID(co_await target->read_fragment(fragment.name, {0, bytes}, buffer.get(),
                                             store::Verify::kHere));
  out->assign(as_text(buffer.get()));
  co_return Status();
}

Task<Status> StoreWorld::read(TestFragment fragment) {
  const std::uint64_t bytes = layout::fragment_bytes(fragment.geometry);
  store::ReadRange range;
  range.offset = round_down(random.below(bytes), kBlockBytes);
  range.length = bytes - range.offset;
  if (range.length > kBlockBytes && random.one_in(2)) range.length = kBlockBytes;
  AlignedBuffer buffer(range.length);
  const Expect before = model.at(fragment.name).second;
  Status done =
      co_await target->read_fragment(fragment.name, range, buffer.get(), store::Verify::kHere);
  const Expect after = model.at(fragment.name).second;
  if (done.ok()) {
    if (as_text(buffer.get()) != fragment.data().substr(range.offset, range.length)) {
      violation(fragment.name, "a read returned other bytes");
    }
    if (before == Expect::kAbsent && after == Expect::kAbsent) {
      violation(fragment.name, "a deleted fragment was read");
    }
  } else if (done.code() == Code::kNotFound && before == Expect::kPresent &&
             after == Expect::kPresent) {
    violation(fragment.name, "an acknowledged fragment is called absent");
  }
  co_return done;
}

void StoreWorld::check() {
  std::size_t present = 0;
  for (auto& [name, entry] : model) {
    auto& [fragment, expect] = entry;
    auto info = target->stat(name);
    std::string bytes;
    Status read = scheduler.run(read_whole(fragment, &bytes));
    if (!info) {
      if (info.error().code() != Code::kNotFound) {
        violation(name, "stat answers " + info.error().to_string());
      }
      if (read.code() != Code::kNotFound) violation(name, "stat and read disagree");
      if (expect == Expect::kPresent) violation(name, "an acknowledged put is lost (I1)");
      expect = Expect::kAbsent;
      continue;
    }
    ++present;
    if (expect == Expect::kAbsent) violation(name, "a deleted fragment came back (I6)");
    if (info->state == store::FragmentState::kSuspect) {
      ++suspects;
      if (expect == Expect::kPresent) violation(name, "an acknowledged put is suspect (I1)");
      if (read.code() != Code::kCorrupt) violation(name, "a suspect fragment was served");
      continue;
    }
    if (!read.ok()) {
      violation(name, "a live fragment can't be read: " + read.to_string());
    } else if (bytes != fragment.data()) {
      violation(name, "other bytes");
    }
    expect = Expect::kPresent;
  }
  auto listed = target->list(std::nullopt, kListPageMax);
  if (!listed) {
    violations.push_back("listing failed: " + listed.error().to_string());
  } else if (listed->size() != present) {
    violations.push_back("the listing has " + std::to_string(listed->size()) + " names, " +
                         std::to_string(present) + " are there");
  }
}

void StoreWorld::close_and_check_no_leak() {
  scheduler.run_for(std::chrono::seconds(5));
  const store::TargetInfo info = target->info();
  if (Status closed = close(); !closed.ok()) {
    violations.push_back("close: " + closed.to_string());
  }
  std::uint64_t held = 0;
  for (const auto& [path, inode] : disk.names().all()) {
    if (path.ends_with(".seg")) held += inode->current.allocated.size() * kPageBytes;
  }
  if (held != info.live_bytes) {
    violations.push_back("segments hold " + std::to_string(held) + " bytes, fragments have " +
                         std::to_string(info.live_bytes) + " (I8)");
  }
}

}  // namespace cairn::sim
