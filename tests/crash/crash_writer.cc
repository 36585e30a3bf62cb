// A client that does everything at once to one target until it is killed: puts of many sizes,
// deletes, reads, repeats, puts given up half-way.  What the target acknowledged is in the journal
// before anything else happens.  Run by the kill and power-cut tests; ends by itself only on an
// error.
//
//   crash_writer DIR JOURNAL INCARNATION SEED
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "bench/cairn_bench/target/ack_journal.h"
#include "bench/cairn_bench/target/fragment_io.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/random.h"
#include "engine/env/sync.h"
#include "engine/platform/platform.h"
#include "server/host/target_host.h"

namespace cairn::crash {
namespace {

constexpr std::uint32_t kClients = 6;
/// Above it deletes win, so that verification stays short.
constexpr std::uint64_t kLiveBytesMax = 48 * kMiB;
constexpr std::uint64_t kObjectMax = 3 * kMiB;
constexpr std::uint64_t kDeletesMax = 6;

struct Live {
  FragmentName name;
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
};

/// What the clients share.
struct Writer {
  store::TargetStore& target;
  bench::AckJournal& journal;
  SplitMix64 random;
  std::uint64_t incarnation;
  std::uint64_t counter = 0;
  std::vector<Live> live;
  std::uint64_t live_bytes = 0;

  Live take_any() {
    const std::size_t at = random.below(live.size());
    Live taken = live[at];
    live[at] = live.back();
    live.pop_back();
    live_bytes -= taken.bytes;
    return taken;
  }
  void add(const Live& fragment) {
    live.push_back(fragment);
    live_bytes += fragment.bytes;
  }
};

/// Mostly small, sometimes several pieces; rarely a multiple of anything.
std::uint64_t random_size(SplitMix64& random) {
  switch (random.below(8)) {
    case 0:
      return random.between(1, kObjectMax);
    case 1:
      return random.between(1, 64) * kBlockBytes / 2;
    case 2:
      return random.between(1, 64);
    default:
      return random.between(1, 256 * kKiB);
  }
}

void fill(MutableBytes memory, std::uint64_t seed) {
  SplitMix64 random(seed);
  std::size_t at = 0;
  for (; at + 8 <= memory.size(); at += 8) store_le(memory.data() + at, random.next());
  for (; at < memory.size(); ++at) memory[at] = static_cast<std::byte>(seed + at);
}

/// Starts a put and drops it somewhere on its way.
Task<Status> give_up(Writer* writer, bench::Object object, Bytes padded) {
  store::PutRequest request;
  request.name = object.name;
  request.geometry = object.geometry;
  request.table = as_bytes(object.table);
  CO_TRY(store::PutSession session, co_await writer->target.begin_put(request));
  const std::uint64_t until = writer->random.below(padded.size());
  std::uint64_t done = 0;
  while (done < until) {
    CO_TRY(const MutableBytes room, co_await session.next_buffer());
    const std::size_t bytes = std::min(room.size(), padded.size() - done);
    std::copy_n(padded.data() + done, bytes, room.data());
    done += bytes;
    CO_TRY_VOID(session.filled(bytes));
  }
  co_return Status();
}

Task<Status> put(Writer* writer, MutableBytes memory) {
  const std::uint64_t bytes = random_size(writer->random);
  const MutableBytes padded = memory.first(round_up(bytes, kPageBytes));
  FragmentName name;
  name.object = {writer->incarnation, ++writer->counter};
  name.placement.value = static_cast<std::uint32_t>(writer->random.below(3));
  fill(padded.first(bytes), name.object.counter ^ writer->incarnation << 32);
  std::fill(padded.begin() + static_cast<std::ptrdiff_t>(bytes), padded.end(), std::byte{0});
  const bench::Object object = bench::make_object(name, bytes, padded);
  if (writer->random.one_in(12)) co_return co_await give_up(writer, object, padded);

  CO_TRY_VOID(co_await bench::put_object(writer->target, object, padded));
  const Live fragment{name, bytes, hash64(padded.first(bytes))};
  CO_TRY_VOID(writer->journal.put(name, bytes, fragment.hash, {}));
  // A client that did not hear the answer asks again.
  if (writer->random.one_in(10)) {
    CO_TRY_VOID(co_await bench::put_object(writer->target, object, padded));
  }
  writer->add(fragment);
  co_return Status();
}

Task<Status> remove(Writer* writer) {
  const std::uint64_t count =
      std::min<std::uint64_t>(writer->live.size(), writer->random.between(1, kDeletesMax));
  std::vector<FragmentName> names;
  for (std::uint64_t i = 0; i < count; ++i) names.push_back(writer->take_any().name);
  for (const FragmentName& name : names) CO_TRY_VOID(writer->journal.deleting(name));
  CO_TRY_VOID(co_await writer->target.delete_fragments(names, Epoch{}));
  for (const FragmentName& name : names) CO_TRY_VOID(writer->journal.deleted(name));
  co_return Status();
}

Task<Status> read(Writer* writer, MutableBytes memory) {
  const Live fragment = writer->take_any();  // nobody deletes it meanwhile
  CO_TRY_VOID(co_await bench::get_verified(writer->target, fragment.name, memory));
  if (hash64(memory.first(fragment.bytes)) != fragment.hash) {
    co_return Status(Code::kCorrupt, to_string(fragment.name) + " was read with other bytes");
  }
  writer->add(fragment);
  co_return Status();
}

Task<Status> client(Writer* writer) {
  const bench::AlignedBuffer buffer(kFragmentBytesMax);
  for (;;) {
    const bool full = writer->live_bytes > kLiveBytesMax;
    const std::uint64_t dice = writer->random.below(10);
    if (!writer->live.empty() && (full || dice < 1)) {
      CO_TRY_VOID(co_await remove(writer));
    } else if (!writer->live.empty() && dice < 3) {
      CO_TRY_VOID(co_await read(writer, buffer.memory()));
    } else {
      CO_TRY_VOID(co_await put(writer, buffer.memory()));
    }
  }
}

Task<Status> run(env::Env env, std::string directory, std::string journal_path,
                 std::uint64_t incarnation, std::uint64_t seed) {
  CO_TRY(const bench::Acks acks, bench::read_acks(journal_path));
  CO_TRY(bench::AckJournal journal, bench::AckJournal::open(journal_path));
  store::StoreOptions options;
  options.directory = directory;
  CO_TRY(const auto target, co_await store::TargetStore::open(env, options));
  Writer writer{*target, journal, SplitMix64(seed), incarnation, 0, {}, 0};
  for (const auto& [name, ack] : acks) {
    if (ack.state == bench::AckState::kPut) writer.add({name, ack.bytes, ack.hash});
  }
  TaskGroup clients(env.executor);
  for (std::uint32_t i = 0; i < kClients; ++i) clients.spawn(client(&writer));
  Status ended = co_await clients.join();
  (co_await target->close()).ignore();  // the first error is the one to tell
  co_return ended;
}

}  // namespace
}  // namespace cairn::crash

int main(int argc, char** argv) {
  using namespace cairn;
  if (argc != 5) {
    std::fputs("usage: crash_writer DIR JOURNAL INCARNATION SEED\n", stderr);
    return 2;
  }
  platform::ignore_sigpipe();
  set_log_level(LogLevel::kWarn);
  auto host = server::TargetHost::make();
  if (!host) {
    std::fprintf(stderr, "%s\n", host.error().to_string().c_str());
    return 1;
  }
  const Status ended =
      (*host)->run(crash::run((*host)->env(), argv[1], argv[2], std::strtoull(argv[3], nullptr, 10),
                              std::strtoull(argv[4], nullptr, 10)));
  std::fprintf(stderr, "crash_writer: %s\n", ended.to_string().c_str());
  return 1;
}
