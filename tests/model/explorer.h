// Every sequence of steps of a model, up to a length: states are visited once for each number of
// steps that is left, so what is cut off are only sequences that lead to where another has been.
// Lengths grow from 1, so a sequence that is found is one of the shortest.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/hash.h"
#include "tests/model/lifetime_rules.h"

namespace cairn::model {

struct Finding {
  std::string broken;
  std::vector<Step> steps;  ///< from the explorer's first state on
};
std::string to_string(const Finding& finding);

class Explorer {
 public:
  Explorer(const Lifetime& model, const State& first, const std::vector<StepKind>& kinds);

  /// Up to `steps_max` steps.
  std::optional<Finding> search(std::uint32_t steps_max);
  /// Distinct states that the last length saw, and steps that it tried.
  std::uint64_t states() const { return seen_.size(); }
  std::uint64_t steps_done() const { return steps_done_; }

 private:
  bool descend(const State& state, std::uint32_t left);
  bool fails(std::string broken);

  const Lifetime& model_;
  State first_;
  std::vector<Step> steps_;
  std::unordered_map<std::uint64_t, std::uint8_t> seen_;  ///< hash -> steps that were left
  std::vector<Step> path_;
  std::optional<Finding> finding_;
  std::uint64_t steps_done_ = 0;
};

}  // namespace cairn::model
