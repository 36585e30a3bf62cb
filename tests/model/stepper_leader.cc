// What the metadata, the collector, the network and the targets do by themselves.
#include "tests/model/stepper.h"

namespace cairn::model {

// ---- the leader ---------------------------------------------------------------------------------

bool Stepper::drop_content(Byte which) {
  if (which >= meta_.contents.size()) return false;
  const Content content = meta_.contents[which];
  if (content.inodes > 0) return false;
  if (rules_.reclaim_waits_for_opens && is_opened(content.id)) return false;
  if (rules_.reclaim_waits_for_declarations && !s_.leader.undeclared.empty()) return false;
  ++meta_.index;
  --find(meta_.objects, content.object)->contents;
  meta_.contents.erase(content);
  return true;
}

bool Stepper::reclaim(Byte which) {
  if (which >= meta_.objects.size() || meta_.objects[which].contents > 0) return false;
  bool sent = false;
  const Object& object = meta_.objects[which];
  for (Byte i = 0; i < kFragments; ++i) {
    sent |= send_delete(object.at[i].target, {object.id, i, object.at[i].placement});
  }
  return sent;
}

bool Stepper::reclaimed(Byte which) {
  if (which >= meta_.objects.size() || meta_.objects[which].contents > 0) return false;
  const Object object = meta_.objects[which];
  for (Byte i = 0; i < kFragments; ++i) {
    const FragmentName name{object.id, i, object.at[i].placement};
    if (held(s_.targets[object.at[i].target], name) != nullptr) return false;
  }
  ++meta_.index;
  meta_.objects.erase(object);
  return true;
}

bool Stepper::restart() {
  ++meta_.index;
  ++meta_.epoch;
  s_.leader = {};
  s_.leader.undeclared = meta_.sessions;
  return true;
}

bool Stepper::backup() {
  if (s_.backup.index != 0) return false;
  s_.backup = meta_;
  return true;
}

bool Stepper::restore() {
  if (s_.backup.index == 0 || s_.index_mark != 0 || meta_.index == s_.backup.index) return false;
  s_.index_mark = meta_.index;
  s_.epoch_mark = meta_.epoch;
  meta_ = s_.backup;
  meta_.read_only = rules_.old_copies_only_read;
  for (Object& object : meta_.objects) object.excused = 1;
  s_.leader = {};
  s_.collector = {};
  for (Client& client : s_.clients) client.handle = {};
  return true;
}

bool Stepper::accept_loss() {
  if (!meta_.read_only) return false;
  if (rules_.accepted_loss_raises_numbers) meta_.index = static_cast<Byte>(s_.index_mark + 16);
  meta_.epoch = static_cast<Byte>(s_.epoch_mark + 1);
  meta_.read_only = 0;
  meta_.sessions.clear();
  for (Object& object : meta_.objects) drop_pending(object);
  return true;
}

// ---- collector and network ----------------------------------------------------------------------

bool Stepper::list(Byte which) {
  Collector& collector = s_.collector;
  if (collector.busy || s_.targets[which].state != TargetState::kUp) return false;
  collector.busy = 1;
  collector.target = which;
  if (rules_.collector_lists_first) {
    collector.listed = s_.targets[which].fragments;
  } else {
    collector.view = view();
  }
  return true;
}

bool Stepper::judge(Byte which) {
  Collector& collector = s_.collector;
  if (!collector.busy || collector.target != which) return false;
  if (rules_.collector_lists_first) {
    collector.view = view();
  } else {
    if (s_.targets[which].state != TargetState::kUp) return false;
    collector.listed = s_.targets[which].fragments;
  }
  for (const Fragment& fragment : collector.listed) {
    if (is_garbage(fragment.name, collector.view)) send_delete(which, fragment.name);
  }
  collector = {};
  return true;
}

View Stepper::view() const {
  View out{meta_.objects, meta_.sessions, {}};
  for (const Client& client : s_.clients) {
    if (!is_live(meta_, client.session) || s_.leader.undeclared.contains(client.session)) continue;
    const bool minted = client.job.kind == JobKind::kWrite || client.job.kind == JobKind::kCompact;
    out.floors.insert(minted ? client.job.object : ObjectId{client.session, client.counter});
  }
  return out;
}

bool Stepper::is_garbage(const FragmentName& name, const View& view) const {
  if (const Object* const object = find(view.objects, name.object)) {
    if (object->at[name.index].placement == name.placement) return false;
    const Place& pending = object->pending[name.index];
    return !(rules_.collector_spares_pending && pending && pending.placement == name.placement);
  }
  if (!view.sessions.contains(name.object.session)) return true;
  if (!rules_.collector_spares_uncommitted) return true;
  return std::ranges::any_of(view.floors, [&name](const ObjectId& floor) {
    return floor.session == name.object.session && name.object.counter < floor.counter;
  });
}

bool Stepper::send_delete(Byte target, const FragmentName& name) {
  const Delete message{target, meta_.epoch, name};
  if (s_.deletes.full() || s_.deletes.contains(message)) return false;
  if (held(s_.targets[target], name) == nullptr) return false;
  s_.deletes.insert(message);
  return true;
}

bool Stepper::deliver_put(Byte which) {
  if (which >= s_.puts.size()) return false;
  const Put message = s_.puts[which];
  const TargetState state = s_.targets[message.target].state;
  if (state == TargetState::kAway) return false;
  s_.puts.erase(message);
  if (state == TargetState::kUp) store(message.target, message.fragment);
  return true;
}

bool Stepper::deliver_delete(Byte which) {
  if (which >= s_.deletes.size()) return false;
  const Delete message = s_.deletes[which];
  Target& target = s_.targets[message.target];
  if (target.state == TargetState::kAway) return false;
  s_.deletes.erase(message);
  if (rules_.deletes_are_fenced && message.epoch < target.epoch) return true;
  target.epoch = std::max(target.epoch, message.epoch);
  target.fragments.erase_if([&](const Fragment& each) { return each.name == message.name; });
  return true;
}

// ---- targets ------------------------------------------------------------------------------------

bool Stepper::away(Byte which) {
  if (!all_up()) return false;
  s_.targets[which].state = TargetState::kAway;
  return true;
}

bool Stepper::back(Byte which) {
  if (s_.targets[which].state != TargetState::kAway) return false;
  s_.targets[which].state = TargetState::kUp;
  return true;
}

bool Stepper::fail(Byte which) {
  if (!all_up()) return false;
  s_.targets[which].state = TargetState::kFailed;
  s_.targets[which].fragments.clear();
  return true;
}

bool Stepper::learn_epoch(Byte which) {
  Target& target = s_.targets[which];
  if (target.state != TargetState::kUp || target.epoch == meta_.epoch) return false;
  target.epoch = meta_.epoch;
  for (const Target& each : s_.targets) {
    if (each.state != TargetState::kFailed && each.epoch != meta_.epoch) return true;
  }
  for (Object& object : meta_.objects) {
    if (object.excused) object.excused = !missing_of(s_, object).empty();
  }
  return true;
}

bool Stepper::all_up() const {
  return std::ranges::all_of(s_.targets,
                             [](const Target& each) { return each.state == TargetState::kUp; });
}

Byte Stepper::next_target(const Places& taken) const {
  for (Byte t = 0; t < kTargets; ++t) {
    const bool is_taken = std::ranges::any_of(taken, [t](Place each) { return each.target == t; });
    if (!is_taken && s_.targets[t].state == TargetState::kUp) return t;
  }
  return kNowhere;
}

Fragment Stepper::fragment_of(const Job& job, Byte index) {
  return {{job.object, index, job.at[index].placement}, job.geometry, job.value};
}

void Stepper::store(Byte which, const Fragment& fragment) {
  Target& target = s_.targets[which];
  if (const Fragment* const there = held(target, fragment.name)) {
    if (*there != fragment) broken_ = "I6: name " + text(fragment.name) + " is used twice";
    return;
  }
  target.fragments.insert(fragment);
}

}  // namespace cairn::model
