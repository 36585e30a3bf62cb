// The rules for the lifetime of bytes hold under every interleaving; each rule that is switched off
// is found by the loss it is there against.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/model/explorer.h"

namespace cairn::model {
namespace {

using enum StepKind;

/// Applies steps that must be possible and break nothing.
State after(const std::vector<Step>& steps, State state = Lifetime::start()) {
  const Lifetime model;
  for (const Step& step : steps) {
    std::string broken;
    CAIRN_CHECK(model.apply(state, step, broken));
    CAIRN_CHECK(broken.empty() && model.check(state).empty());
  }
  return state;
}

/// Two sessions, and a file that the first has written.
State one_file() {
  return after({{kNewSession, 0}, {kNewSession, 1}, {kBeginWrite, 0, 0}, {kPut, 0}, {kCommit, 0}});
}
State one_open_file() { return after({{kRegister, 0, 0}, {kView, 0}}, one_file()); }
State one_old_copy() { return after({{kExpire, 1}, {kBackup}}, one_file()); }
State one_failed_target() { return after({{kFail, 0, 0}}, one_file()); }

struct Scenario {
  const char* name;
  State (*first)();
  std::vector<StepKind> kinds;
  std::uint32_t steps;  ///< in CI; CAIRN_MODEL_STEPS adds to it
};

std::vector<StepKind> all_kinds() {
  std::vector<StepKind> out;
  for (std::size_t i = 0; i < kStepKinds; ++i) out.push_back(static_cast<StepKind>(i));
  return out;
}

/// Groups of steps that meet in one race.
const std::vector<Scenario>& scenarios() {
  static const std::vector<StepKind> around_opens = {
      kRegister,   kView,        kClose,   kDeclare,    kRestart,      kExpire, kForget,
      kBeginWrite, kPut,         kCommit,  kBeginWiden, kSwap,         kClone,  kCloneFromHandle,
      kUnlink,     kDropContent, kReclaim, kReclaimed,  kDeliverDelete};
  static const std::vector<Scenario> all = {
      {"writers",
       one_file,
       {kBeginWrite, kBeginCompact, kPut, kPutLate, kCommit, kExpire, kNewSession, kClone, kUnlink,
        kDropContent, kReclaim, kReclaimed, kList, kJudge, kDeliverPut, kDeliverDelete},
       7},
      {"repairs",
       one_failed_target,
       {kBeginRepair, kBeginWiden, kPut, kPutLate, kSwap, kExpire, kDie, kNewSession, kUnlink,
        kDropContent, kReclaim, kReclaimed, kList, kJudge, kDeliverPut, kDeliverDelete},
       8},
      {"opens", one_file, around_opens, 7},
      {"open files", one_open_file, around_opens, 7},
      {"targets that come and go",
       one_file,
       {kAway, kBack, kFail, kBeginRepair, kBeginWrite, kPut, kCommit, kSwap, kUnlink, kDropContent,
        kReclaim, kReclaimed, kList, kJudge, kDeliverDelete},
       7},
      {"old copies",
       one_old_copy,
       {kRestore, kAcceptLoss, kLearnEpoch, kNewSession, kExpire, kBeginWrite, kPut, kCommit,
        kUnlink, kDropContent, kReclaim, kReclaimed, kList, kJudge, kDeliverDelete},
       8},
      {"everything", one_open_file, all_kinds(), 5},
  };
  return all;
}

std::uint32_t more_steps() {
  const char* const text = std::getenv("CAIRN_MODEL_STEPS");
  return text == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

class LifetimeScenario : public testing::TestWithParam<Scenario> {};

TEST_P(LifetimeScenario, KeepsEveryPromiseUnderEveryInterleaving) {
  const Scenario& scenario = GetParam();
  const Lifetime model;
  Explorer explorer(model, scenario.first(), scenario.kinds);
  const auto finding = explorer.search(scenario.steps + more_steps());
  EXPECT_FALSE(finding) << to_string(*finding);
  std::cout << scenario.steps + more_steps() << " steps: " << explorer.states() << " states, "
            << explorer.steps_done() << " transitions\n";
}

INSTANTIATE_TEST_SUITE_P(All, LifetimeScenario, testing::ValuesIn(scenarios()),
                         [](const auto& each) {
                           std::string name = each.param.name;
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

const Scenario& scenario_named(const std::string& name) {
  return *std::ranges::find_if(scenarios(),
                               [&](const Scenario& each) { return each.name == name; });
}

struct PlantedBug {
  const char* name;
  bool Rules::* rule;
  const char* scenario;
  const char* promise;  ///< that breaks
};

class LifetimeWithout : public testing::TestWithParam<PlantedBug> {};

TEST_P(LifetimeWithout, LosesWhatTheRuleIsThereFor) {
  Rules rules;
  rules.*GetParam().rule = false;
  const Lifetime model(rules);
  const Scenario& scenario = scenario_named(GetParam().scenario);
  Explorer explorer(model, scenario.first(), scenario.kinds);
  const auto finding = explorer.search(scenario.steps);
  ASSERT_TRUE(finding) << "nothing within " << scenario.steps << " steps";
  std::cout << to_string(*finding) << "\n";
  const std::string promise = std::string(GetParam().promise) + ":";
  EXPECT_NE(finding->broken.find(promise), std::string::npos) << finding->broken;
}

INSTANTIATE_TEST_SUITE_P(
    All, LifetimeWithout,
    testing::Values(
        PlantedBug{"the_session_of_a_commit", &Rules::commit_needs_its_session, "writers", "I8"},
        PlantedBug{"the_targets_of_a_commit", &Rules::commit_needs_its_targets,
                   "targets that come and go", "I1"},
        PlantedBug{"the_number_of_a_compacted_extent", &Rules::compaction_needs_its_number,
                   "writers", "I1"},
        PlantedBug{"forks_of_pinned_contents", &Rules::pinned_contents_fork, "open files", "I17"},
        PlantedBug{"forks_until_all_have_declared", &Rules::changes_fork_until_declared,
                   "open files", "I17"},
        PlantedBug{"opens_that_count", &Rules::reclaim_waits_for_opens, "open files", "I17"},
        PlantedBug{"opens_that_are_declared_again", &Rules::reclaim_waits_for_declarations,
                   "open files", "I17"},
        PlantedBug{"registration_before_the_view", &Rules::opens_register_first, "opens", "I17"},
        PlantedBug{"clones_inside_the_command", &Rules::counts_never_rise_from_zero, "open files",
                   "I8"},
        PlantedBug{"new_placements", &Rules::placements_are_new, "repairs", "I8"},
        PlantedBug{"the_pending_placement_of_a_swap", &Rules::swap_needs_its_pending, "repairs",
                   "I8"},
        PlantedBug{"lists_before_views", &Rules::collector_lists_first, "repairs", "I8"},
        PlantedBug{"pending_placements_that_count", &Rules::collector_spares_pending, "repairs",
                   "I8"},
        PlantedBug{"floors_of_sessions", &Rules::collector_spares_uncommitted, "writers", "I8"},
        PlantedBug{"fences", &Rules::deletes_are_fenced, "old copies", "I8"},
        PlantedBug{"exact_names", &Rules::names_are_exact, "open files", "I11"},
        PlantedBug{"reading_only_of_old_copies", &Rules::old_copies_only_read, "old copies", "I8"},
        PlantedBug{"numbers_above_the_marks", &Rules::accepted_loss_raises_numbers, "old copies",
                   "I6"}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace cairn::model
