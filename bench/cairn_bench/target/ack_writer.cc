#include "bench/cairn_bench/target/ack_writer.h"

#include <chrono>

#include "bench/cairn_bench/target/ack_journal.h"
#include "bench/cairn_bench/target/fragment_io.h"
#include "bench/cairn_bench/target/tree_packer.h"
#include "engine/base/hash.h"
#include "engine/env/sync.h"

namespace cairn::bench {
namespace {

/// What the writers share.
struct Work {
  store::TargetStore& target;
  TreePacker& tree;
  AckJournal& journal;
  const AckWriterOptions& options;
  std::uint64_t incarnation;
  std::uint64_t counter = 0;
  bool at_end = false;
  AckWriterTotals totals;
};

Task<Status> write_some(Work* work) {
  const AlignedBuffer buffer(work->options.object_bytes);
  while (!work->at_end) {
    CO_TRY(TreePacker::Packed packed, work->tree.next(buffer.memory()));
    if (packed.bytes == 0) {
      work->at_end = !work->options.repeat || work->totals.fragments == 0;
      work->tree.rewind();
      continue;
    }
    const std::uint64_t padded = round_up(packed.bytes, kPageBytes);
    const MutableBytes padding = buffer.memory().subspan(packed.bytes, padded - packed.bytes);
    std::fill(padding.begin(), padding.end(), std::byte{0});
    const Bytes object_bytes = buffer.memory().first(packed.bytes);

    FragmentName name;
    name.object = {work->incarnation, ++work->counter};
    const Object object = make_object(name, packed.bytes, buffer.memory().first(padded));
    CO_TRY_VOID(co_await put_object(work->target, object, buffer.memory().first(padded)));
    CO_TRY_VOID(work->journal.put(name, packed.bytes, hash64(object_bytes), packed.sources));
    ++work->totals.fragments;
    work->totals.bytes += packed.bytes;
  }
  co_return Status();
}

}  // namespace

Task<Result<AckWriterTotals>> write_tree(env::Env env, AckWriterOptions options) {
  CO_TRY(TreePacker tree, TreePacker::make(options.tree));
  CO_TRY(AckJournal journal, AckJournal::open(options.journal));
  store::StoreOptions store_options;
  store_options.directory = options.directory;
  CO_TRY(const auto target, co_await store::TargetStore::open(env, store_options));

  Work work{*target, tree, journal, options, options.incarnation, 0, false, {}};
  if (work.incarnation == 0) {
    // Later runs get higher ones, so that no name is ever used for other bytes.
    work.incarnation =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                       env.clock.wall_now().time_since_epoch())
                                       .count());
  }
  work.totals.files = tree.files();
  work.totals.skipped = tree.skipped();
  const env::MonotonicTime begin = env.clock.now();
  TaskGroup writers(env.executor);
  for (std::uint32_t i = 0; i < options.writers; ++i) writers.spawn(write_some(&work));
  Status written = co_await writers.join();
  work.totals.seconds = std::chrono::duration<double>(env.clock.now() - begin).count();
  Status closed = co_await target->close();
  CO_TRY_VOID(first_error(std::move(written), std::move(closed)));
  co_return work.totals;
}

}  // namespace cairn::bench
