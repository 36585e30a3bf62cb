#include "bench/cairn_bench/target/ack_verifier.h"

#include "bench/cairn_bench/target/fragment_io.h"
#include "engine/base/hash.h"

namespace cairn::bench {
namespace {

constexpr std::size_t kProblemsMax = 20;

/// Looks at fragments one after another and counts what it finds.
class Verifier {
 public:
  Verifier(store::TargetStore& target, const Acks& acks)
      : target_(target), acks_(acks), buffer_(kFragmentBytesMax) {}

  Task<Result<Verdict>> run() {
    for (const auto& [name, ack] : acks_) {
      if (ack.state == AckState::kPut) co_await check_put(name, ack);
      if (ack.state == AckState::kDeleted) check_deleted(name);
    }
    CO_TRY_VOID(co_await check_survivors());
    co_return std::move(verdict_);
  }

 private:
  void problem(const FragmentName& name, std::string_view what) {
    if (verdict_.problems.size() == kProblemsMax) return;
    verdict_.problems.push_back(to_string(name) + ": " + std::string(what));
  }

  Task<void> check_put(FragmentName name, Ack ack) {
    ++verdict_.acknowledged;
    const auto got = co_await get_verified(target_, name, buffer_.memory());
    if (!got) {
      ++verdict_.lost;
      problem(name, "acknowledged, " + got.error().to_string());
    } else if (*got < ack.bytes || hash64(buffer_.memory().first(ack.bytes)) != ack.hash) {
      ++verdict_.torn;
      problem(name, "acknowledged, served with other bytes");
    } else {
      ++verdict_.verified;
      verdict_.verified_bytes += ack.bytes;
    }
  }

  void check_deleted(const FragmentName& name) {
    ++verdict_.deleted;
    const auto found = target_.stat(name);
    if (!found && found.error().code() == Code::kNotFound) return;
    ++verdict_.resurrected;
    problem(name, found ? "deleted, there again" : "deleted, " + found.error().to_string());
  }

  /// Fragments that nobody was told about, or whose delete was not answered: whole, or kCorrupt.
  Task<Status> check_survivors() {
    std::optional<FragmentName> after;
    for (;;) {
      CO_TRY(const auto page, target_.list(after, kListPageMax));
      if (page.empty()) co_return Status();
      after = page.back().name;
      for (const store::FragmentInfo& info : page) {
        const auto ack = acks_.find(info.name);
        if (ack == acks_.end() || ack->second.state == AckState::kDeleting) {
          co_await check_survivor(info);
        }
      }
    }
  }

  Task<void> check_survivor(store::FragmentInfo info) {
    const auto got = co_await get_verified(target_, info.name, buffer_.memory());
    if (got) {
      ++verdict_.survivors_whole;
    } else if (info.state == store::FragmentState::kSuspect &&
               got.error().code() == Code::kCorrupt) {
      ++verdict_.survivors_suspect;
    } else {
      ++verdict_.torn;
      problem(info.name, "listed as live, " + got.error().to_string());
    }
  }

  store::TargetStore& target_;
  const Acks& acks_;
  AlignedBuffer buffer_;
  Verdict verdict_;
};

}  // namespace

Task<Result<Verdict>> verify_acks(store::TargetStore& target, const Acks& acks) {
  Verifier verifier(target, acks);
  co_return co_await verifier.run();
}

Task<Result<Verdict>> verify_target(env::Env env, std::string directory, std::string journal) {
  CO_TRY(const Acks acks, read_acks(journal));
  store::StoreOptions options;
  options.directory = std::move(directory);
  CO_TRY(const auto target, co_await store::TargetStore::open(env, options));
  auto verdict = co_await verify_acks(*target, acks);
  Status closed = co_await target->close();
  if (verdict && !closed.ok()) co_return fail(std::move(closed));
  closed.ignore();  // else the first error is the one to tell
  co_return verdict;
}

}  // namespace cairn::bench
