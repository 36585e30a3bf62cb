#include "tests/model/explorer.h"

#include <span>
#include <utility>

namespace cairn::model {

std::string to_string(const Finding& finding) {
  std::string out = finding.broken + ", after";
  const char* between = " ";
  for (const Step& step : finding.steps) out += std::exchange(between, ", ") + to_string(step);
  return out;
}

Explorer::Explorer(const Lifetime& model, const State& first, const std::vector<StepKind>& kinds)
    : model_(model), first_(first) {
  for (const StepKind kind : kinds) {
    for (const Step& step : steps_of(kind)) steps_.push_back(step);
  }
}

std::optional<Finding> Explorer::search(std::uint32_t steps_max) {
  for (std::uint32_t length = 1; length <= steps_max && !finding_; ++length) {
    seen_.clear();
    steps_done_ = 0;
    descend(first_, length);
  }
  return finding_;
}

bool Explorer::fails(std::string broken) {
  if (broken.empty()) return false;
  finding_ = Finding{std::move(broken), path_};
  return true;
}

bool Explorer::descend(const State& state, std::uint32_t left) {
  const std::uint64_t hash = hash64(std::as_bytes(std::span(&state, 1)));
  auto [at, is_new] = seen_.try_emplace(hash, static_cast<std::uint8_t>(left));
  if (!is_new) {
    if (at->second >= left) return false;
    at->second = static_cast<std::uint8_t>(left);
  } else if (fails(model_.check(state)) || fails(model_.check_at_rest(state))) {
    return true;
  }
  if (left == 0) return false;
  for (const Step& step : steps_) {
    State next = state;
    std::string broken;
    if (!model_.apply(next, step, broken)) continue;
    ++steps_done_;
    path_.push_back(step);
    if (fails(std::move(broken)) || descend(next, left - 1)) return true;
    path_.pop_back();
  }
  return false;
}

}  // namespace cairn::model
