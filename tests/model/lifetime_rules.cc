#include "tests/model/lifetime_rules.h"

#include "tests/model/stepper.h"

namespace cairn::model {
namespace {

constexpr std::size_t kObjects = decltype(Metadata::objects)::kCapacity;
constexpr std::size_t kContents = decltype(Metadata::contents)::kCapacity;
constexpr std::size_t kPuts = decltype(State::puts)::kCapacity;
constexpr std::size_t kDeletes = decltype(State::deletes)::kCapacity;

using enum StepKind;

enum Who : bool { kItself, kClient };
/// kChanges: not while an old copy is only read.
enum When : bool { kAlways, kChanges };

struct Row {
  StepKind kind;
  const char* name;
  Who who;
  std::size_t choices;  ///< of Step::b
  When when;
  bool (*run)(Stepper&, Client&, Byte);
};

/// A method that takes some of a client and a choice, in this order.
template <auto method>
bool call(Stepper& stepper, Client& client, Byte choice) {
  using Method = decltype(method);
  if constexpr (std::is_invocable_v<Method, Stepper&, Client&, Byte>) {
    return (stepper.*method)(client, choice);
  } else if constexpr (std::is_invocable_v<Method, Stepper&, Client&>) {
    return (stepper.*method)(client);
  } else if constexpr (std::is_invocable_v<Method, Stepper&, Byte>) {
    return (stepper.*method)(choice);
  } else {
    return (stepper.*method)();
  }
}

// clang-format off: one row, one line
constexpr std::array<Row, kStepKinds> kSteps = {{
    {kNewSession, "new_session", kClient, 1, kChanges, call<&Stepper::new_session>},
    {kExpire, "expire", kClient, 1, kChanges, call<&Stepper::expire>},
    {kDie, "die", kClient, 1, kChanges, call<&Stepper::die>},
    {kForget, "forget", kClient, 1, kAlways, call<&Stepper::forget>},
    {kBeginWrite, "begin_write", kClient, kInodes, kChanges, call<&Stepper::begin_write>},
    {kBeginCompact, "begin_compact", kClient, kInodes, kChanges, call<&Stepper::begin_compact>},
    {kBeginRepair, "begin_repair", kClient, kObjects, kChanges, call<&Stepper::begin_repair>},
    {kBeginWiden, "begin_widen", kClient, kObjects, kChanges, call<&Stepper::begin_widen>},
    {kPut, "put", kClient, 1, kAlways, call<&Stepper::put>},
    {kPutLate, "put_late", kClient, kFragments, kAlways, call<&Stepper::put_late>},
    {kCommit, "commit", kClient, 1, kChanges, call<&Stepper::commit>},
    {kSwap, "swap", kClient, 1, kChanges, call<&Stepper::swap>},
    {kRegister, "register", kClient, kInodes, kAlways, call<&Stepper::open_begins>},
    {kView, "view", kClient, 1, kAlways, call<&Stepper::open_ends>},
    {kClose, "close", kClient, 1, kAlways, call<&Stepper::close>},
    {kDeclare, "declare", kClient, 1, kAlways, call<&Stepper::declare>},
    {kCloneFromHandle, "clone_handle", kClient, 1, kChanges, call<&Stepper::clone_from_handle>},
    {kClone, "clone", kItself, kInodes, kChanges, call<&Stepper::clone>},
    {kUnlink, "unlink", kItself, kInodes, kChanges, call<&Stepper::unlink>},
    {kDropContent, "drop_content", kItself, kContents, kChanges, call<&Stepper::drop_content>},
    {kReclaim, "reclaim", kItself, kObjects, kChanges, call<&Stepper::reclaim>},
    {kReclaimed, "reclaimed", kItself, kObjects, kChanges, call<&Stepper::reclaimed>},
    {kRestart, "restart", kItself, 1, kAlways, call<&Stepper::restart>},
    {kBackup, "backup", kItself, 1, kChanges, call<&Stepper::backup>},
    {kRestore, "restore", kItself, 1, kAlways, call<&Stepper::restore>},
    {kAcceptLoss, "accept_loss", kItself, 1, kAlways, call<&Stepper::accept_loss>},
    {kList, "list", kItself, kTargets, kChanges, call<&Stepper::list>},
    {kJudge, "judge", kItself, kTargets, kChanges, call<&Stepper::judge>},
    {kDeliverPut, "deliver_put", kItself, kPuts, kAlways, call<&Stepper::deliver_put>},
    {kDeliverDelete, "deliver_delete", kItself, kDeletes, kAlways, call<&Stepper::deliver_delete>},
    {kAway, "away", kItself, kTargets, kAlways, call<&Stepper::away>},
    {kBack, "back", kItself, kTargets, kAlways, call<&Stepper::back>},
    {kFail, "fail", kItself, kTargets, kAlways, call<&Stepper::fail>},
    {kLearnEpoch, "learn_epoch", kItself, kTargets, kChanges, call<&Stepper::learn_epoch>},
}};
// clang-format on

const Row& row_of(StepKind kind) {
  const Row& row = kSteps[static_cast<std::size_t>(kind)];
  CAIRN_CHECK(row.kind == kind);
  return row;
}

/// What a reader gets for a fragment, on the target that its map names.
const Fragment* read(const Rules& rules, const State& state, const Handle& handle, Byte index) {
  const Target& target = state.targets[handle.at[index].target];
  const Fragment* found = nullptr;
  for (const Fragment& each : target.fragments) {
    if (each.name.object != handle.object || each.name.index != index) continue;
    if (!rules.names_are_exact || each.name.placement == handle.at[index].placement) found = &each;
  }
  return found;
}

std::string check_handle(const Rules& rules, const State& state, const Client& client) {
  const Handle& handle = client.handle;
  const Open open{client.session, handle.inode, handle.content};
  if (handle.step != HandleStep::kOpen) return {};
  if (!is_live(state.meta, client.session) && !state.leader.opens.contains(open)) return {};
  const Content* const content = find(state.meta.contents, handle.content);
  if (content == nullptr) return "I17: content of an open handle was reclaimed";
  if (content->object != handle.object) return "I17: the content of an open handle changed";
  for (Byte i = 0; i < kFragments; ++i) {
    const Fragment* const fragment = read(rules, state, handle, i);
    if (fragment != nullptr && fragment->geometry != handle.geometry) {
      return "I11: a reader decodes fragments of two geometries together";
    }
  }
  return {};
}

}  // namespace

const Fragment* held(const Target& target, const FragmentName& name) {
  const auto at = std::ranges::find(target.fragments, name, &Fragment::name);
  return at == target.fragments.end() ? nullptr : &*at;
}

std::string text(const ObjectId& id) {
  return std::to_string(id.session) + "." + std::to_string(id.counter);
}
std::string text(const FragmentName& name) {
  return text(name.object) + "/" + std::to_string(name.index) + "." +
         std::to_string(name.placement);
}

std::string missing_of(const State& state, const Object& object) {
  for (Byte i = 0; i < kFragments; ++i) {
    const Target& target = state.targets[object.at[i].target];
    if (target.state == TargetState::kFailed) continue;
    const FragmentName name{object.id, i, object.at[i].placement};
    const Fragment* const fragment = held(target, name);
    if (fragment == nullptr) return "fragment " + text(name) + " is gone";
    if (fragment->geometry != object.geometry || fragment->value != object.value) {
      return "fragment " + text(name) + " holds other bytes";
    }
  }
  return {};
}

std::string to_string(const Step& step) {
  const Row& row = row_of(step.kind);
  std::string out = row.name;
  if (row.who == kClient) out += " " + std::string(1, static_cast<char>('A' + step.a));
  if (row.choices > 1) out += " " + std::to_string(step.b);
  return out;
}

std::vector<Step> steps_of(StepKind kind) {
  const Row& row = row_of(kind);
  std::vector<Step> out;
  for (std::size_t a = 0; a < (row.who == kClient ? kClients : 1); ++a) {
    for (std::size_t b = 0; b < row.choices; ++b) {
      out.push_back({kind, static_cast<Byte>(a), static_cast<Byte>(b)});
    }
  }
  return out;
}

State Lifetime::start() { return {}; }

bool Lifetime::apply(State& state, const Step& step, std::string& broken) const {
  const Row& row = row_of(step.kind);
  if (row.when == kChanges && state.meta.read_only) return false;
  Stepper stepper(rules_, state, broken);
  return row.run(stepper, state.clients[step.a], step.b);
}

std::string Lifetime::check(const State& state) const {
  const Metadata& meta = state.meta;
  for (const Object& object : meta.objects) {
    const auto counted = std::ranges::count(meta.contents, object.id, &Content::object);
    if (counted != object.contents) return "I8: count of object " + text(object.id) + " is wrong";
    if (object.contents == 0 || object.excused) continue;
    if (const std::string missing = missing_of(state, object); !missing.empty()) {
      return "I8: object " + text(object.id) + " is referenced and its " + missing;
    }
  }
  for (Byte inode = 0; inode < kInodes; ++inode) {
    const Content* const content = find(meta.contents, meta.content[inode]);
    const Object* const object = content ? find(meta.objects, content->object) : nullptr;
    const Byte value = object ? object->value : Byte{0};
    if (value != meta.expected[inode]) return "I1: an acknowledged change of an inode is lost";
  }
  for (const Client& client : state.clients) {
    std::string wrong = check_handle(rules_, state, client);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string Lifetime::check_at_rest(State state) const {
  if (state.meta.read_only) return {};
  std::string broken;
  Stepper stepper(rules_, state, broken);
  for (Byte t = 0; t < kTargets; ++t) {
    stepper.back(t);
    stepper.learn_epoch(t);
  }
  while (stepper.deliver_put(0)) {
  }
  while (stepper.deliver_delete(0)) {
  }
  for (Client& client : state.clients) stepper.die(client);
  state.leader.undeclared.clear();
  for (Byte i = 0; i < state.meta.contents.size();) {
    if (!stepper.drop_content(i)) ++i;
  }
  for (Byte i = 0; i < state.meta.objects.size();) {
    stepper.reclaim(i);
    while (stepper.deliver_delete(0)) {
    }
    if (!stepper.reclaimed(i)) ++i;
  }
  state.collector = {};
  for (Byte t = 0; t < 2 * kTargets; ++t) {  // twice, as few deletes fit into the model's network
    stepper.list(t % kTargets);
    stepper.judge(t % kTargets);
    while (stepper.deliver_delete(0)) {
    }
  }
  if (!broken.empty()) return broken;
  if (std::string wrong = check(state); !wrong.empty()) return "at rest: " + wrong;
  for (const Target& target : state.targets) {
    for (const Fragment& each : target.fragments) {
      const Object* const object = find(state.meta.objects, each.name.object);
      const bool named =
          object != nullptr && object->at[each.name.index].placement == each.name.placement;
      if (!named)
        return "at rest: I8: fragment " + text(each.name) + " is left and nobody names it";
    }
  }
  return {};
}

}  // namespace cairn::model
