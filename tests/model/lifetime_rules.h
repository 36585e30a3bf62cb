// The rules of DESIGN 5 for the lifetime of bytes, one step at a time, and what must hold after
// each.  A rule can be switched off: then the model has to find the loss that the rule is there
// against.
#pragma once

#include <string>
#include <vector>

#include "tests/model/lifetime_state.h"

namespace cairn::model {

/// All true: the design.
struct Rules {
  bool commit_needs_its_session = true;        ///< a commit of an ended session is refused
  bool commit_needs_its_targets = true;        ///< so is one that names a failed target
  bool compaction_needs_its_number = true;     ///< swaps only the extent that it read
  bool pinned_contents_fork = true;            ///< a change of an opened content makes a new one
  bool changes_fork_until_declared = true;     ///< after a start anything may be opened
  bool reclaim_waits_for_opens = true;         ///< a registered content is counted
  bool reclaim_waits_for_declarations = true;  ///< after a start
  bool opens_register_first = true;            ///< before their view is taken
  bool counts_never_rise_from_zero = true;     ///< clones go by inode, inside the command
  bool placements_are_new = true;              ///< a repair takes its command's index
  bool swap_needs_its_pending = true;          ///< and old placement
  bool collector_lists_first = true;           ///< and takes its view then
  bool collector_spares_pending = true;        ///< of a repair
  bool collector_spares_uncommitted = true;    ///< ids at or above the session's floor
  bool deletes_are_fenced = true;              ///< by the epoch that the target has seen
  bool names_are_exact = true;                 ///< reads name the placement
  bool old_copies_only_read = true;            ///< below a mark, until the loss is accepted
  bool accepted_loss_raises_numbers = true;    ///< above every mark
};

enum class StepKind : Byte {
  // A client: a = which one.
  kNewSession,
  kExpire,  ///< the metadata ends its session; it does not know
  kDie,
  kForget,        ///< what an expired session registered, ten minutes later
  kBeginWrite,    ///< b = inode
  kBeginCompact,  ///< b = inode
  kBeginRepair,   ///< b = which object
  kBeginWiden,    ///< b = which object
  kPut,           ///< every fragment of the job, flushed
  kPutLate,       ///< b = which fragment; given up, still on its way
  kCommit,
  kSwap,
  kRegister,  ///< b = inode
  kView,
  kClose,
  kDeclare,
  kCloneFromHandle,
  // Names: b = inode.
  kClone,
  kUnlink,
  // The leader: b = which content or object.
  kDropContent,
  kReclaim,
  kReclaimed,
  kRestart,
  kBackup,
  kRestore,
  kAcceptLoss,
  // The collector and the network: b = which target or message.
  kList,
  kJudge,
  kDeliverPut,
  kDeliverDelete,
  // A target: b = which one.
  kAway,
  kBack,
  kFail,
  kLearnEpoch,
};
inline constexpr std::size_t kStepKinds = static_cast<std::size_t>(StepKind::kLearnEpoch) + 1;

struct Step {
  StepKind kind = StepKind::kNewSession;
  Byte a = 0;
  Byte b = 0;
};
std::string to_string(const Step& step);
/// Every step of a kind, possible or not.
std::vector<Step> steps_of(StepKind kind);

class Lifetime {
 public:
  explicit Lifetime(Rules rules = {}) : rules_(rules) {}

  /// Four targets that are up and no session.
  static State start();
  /// False: not possible here, and `state` is of no further use.  `broken` gets what the step
  /// itself broke.
  bool apply(State& state, const Step& step, std::string& broken) const;
  /// Which promise a state breaks, and how; empty: none.
  std::string check(const State& state) const;
  /// The same once all is quiet: everything arrived, every session ended, one collector pass.  Then
  /// targets hold what the metadata names, and nothing else (I8).
  std::string check_at_rest(State state) const;

 private:
  Rules rules_;
};

}  // namespace cairn::model
