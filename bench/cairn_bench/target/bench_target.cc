#include "bench/cairn_bench/target/bench_target.h"

#include <algorithm>

#include "engine/base/log.h"
#include "engine/codec/hash_table.h"
#include "engine/env/sync.h"

namespace cairn::bench {
namespace {

/// What the coroutines of one run share; they take objects one after another.
struct Run {
  store::TargetStore& store;
  const std::vector<Object>& objects;
  std::size_t next = 0;
  double copy_cpu_seconds = 0;
};

std::uint64_t fragment_bytes(const Object& object) {
  return layout::fragment_bytes(object.geometry);
}

std::uint64_t total_bytes(const std::vector<Object>& objects) {
  std::uint64_t total = 0;
  for (const Object& object : objects) total += fragment_bytes(object);
  return total;
}

Task<Status> write_some(Run* run, Bytes payload) {
  while (run->next < run->objects.size()) {
    const Object& object = run->objects[run->next++];
    CO_TRY_VOID(co_await put_object(run->store, object, payload.first(fragment_bytes(object)),
                                    &run->copy_cpu_seconds));
  }
  co_return Status();
}

Task<Status> read_some(Run* run, MutableBytes memory, store::Verify verify) {
  while (run->next < run->objects.size()) {
    const Object& object = run->objects[run->next++];
    const MutableBytes into = memory.first(fragment_bytes(object));
    const store::ReadRange whole{0, into.size()};
    CO_TRY_VOID(co_await run->store.read_fragment(object.name, whole, into, verify));
    if (verify == store::Verify::kHere) continue;
    CO_TRY(const auto table, codec::HashTableView::make(as_bytes(object.table), object.geometry));
    CO_TRY_VOID(codec::verify_blocks(table, object.name.object, object.name.index, 0, into));
  }
  co_return Status();
}

Task<Status> remove_all(env::Env env, store::TargetStore* store,
                        const std::vector<Object>* objects) {
  for (std::size_t at = 0; at < objects->size(); at += kDeleteBatchMax) {
    std::vector<FragmentName> names;
    for (std::size_t i = at; i < std::min(objects->size(), at + kDeleteBatchMax); ++i) {
      names.push_back((*objects)[i].name);
    }
    CO_TRY_VOID(co_await store->delete_fragments(std::move(names), Epoch{}));
  }
  while (store->info().dead_extents > 0) {
    co_await sleep_until(env.clock, env.executor, env.clock.now() + std::chrono::milliseconds(5));
  }
  co_return Status();
}

Task<Status> run_all(env::Env env, std::vector<Task<Status>> tasks) {
  TaskGroup group(env.executor);
  for (Task<Status>& task : tasks) group.spawn(std::move(task));
  co_return co_await group.join();
}

}  // namespace

Result<std::unique_ptr<BenchTarget>> BenchTarget::make(const std::string& directory,
                                                       bool index_fragments) {
  {
    TRY(const auto host, server::TargetHost::make());
    TRY_VOID(host->run(store::init_target(host->env(), directory, {})));
  }
  return open(directory, index_fragments);
}

Result<std::unique_ptr<BenchTarget>> BenchTarget::open(const std::string& directory,
                                                       bool index_fragments) {
  std::unique_ptr<BenchTarget> target(new BenchTarget());
  TRY(target->host_, server::TargetHost::make());
  store::StoreOptions options;
  options.directory = directory;
  options.index_fragments = index_fragments;
  TRY(target->store_,
      target->host_->run(store::TargetStore::open(target->host_->env(), std::move(options))));
  return target;
}

BenchTarget::~BenchTarget() {
  if (!store_) return;
  const Status closed = host_->run(store_->close());
  if (!closed.ok()) log_warn("bench", "closing the target: " + closed.to_string());
  store_.reset();
}

Result<Rate> BenchTarget::write(const std::vector<Object>& objects, Bytes payload,
                                std::uint32_t writers) {
  Run run{*store_, objects};
  std::vector<Task<Status>> tasks;
  for (std::uint32_t i = 0; i < writers; ++i) tasks.push_back(write_some(&run, payload));
  const Stopwatch watch;
  TRY_VOID(host_->run(run_all(host_->env(), std::move(tasks))));
  Rate rate = watch.rate(total_bytes(objects));
  rate.copy_cpu_seconds = run.copy_cpu_seconds;
  return rate;
}

Result<Rate> BenchTarget::read(const std::vector<Object>& objects, std::uint32_t readers,
                               store::Verify verify) {
  const std::uint64_t each = fragment_bytes(objects.front());
  CAIRN_CHECK(each * readers <= kReadBytesMax);
  if (!read_memory_) {
    TRY(read_memory_, io::PiecePool::make(host_->env().executor, kReadBytesMax / kPieceBytes));
    read_registered_ = host_->env().device.register_memory(read_memory_->memory());
  }
  Run run{*store_, objects};
  std::vector<Task<Status>> tasks;
  for (std::uint32_t i = 0; i < readers; ++i) {
    tasks.push_back(read_some(&run, read_memory_->memory().subspan(i * each, each), verify));
  }
  const Stopwatch watch;
  TRY_VOID(host_->run(run_all(host_->env(), std::move(tasks))));
  return watch.rate(total_bytes(objects));
}

Status BenchTarget::remove(const std::vector<Object>& objects) {
  return host_->run(remove_all(host_->env(), store_.get(), &objects));
}

std::vector<Object> make_objects(std::uint64_t first_counter, std::uint64_t count,
                                 std::uint64_t object_bytes, Bytes payload) {
  std::vector<Object> objects;
  objects.reserve(count);
  const std::uint64_t padded = layout::fragment_bytes(single_fragment(object_bytes));
  for (std::uint64_t i = 0; i < count; ++i) {
    FragmentName name;
    name.object = {1, first_counter + i};
    objects.push_back(make_object(name, object_bytes, payload.first(padded)));
  }
  return objects;
}

}  // namespace cairn::bench
