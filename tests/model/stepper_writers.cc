// Clients that write, compact, repair and widen.
#include "tests/model/stepper.h"

namespace cairn::model {

// ---- writing ------------------------------------------------------------------------------------

bool Stepper::begin_write(Client& client, Byte inode) {
  if (!begin_object(client)) return false;
  client.job.kind = JobKind::kWrite;
  client.job.inode = inode;
  client.job.value = ++s_.values;
  return true;
}

bool Stepper::begin_compact(Client& client, Byte inode) {
  const Content* const content = find(meta_.contents, meta_.content[inode]);
  if (content == nullptr || !begin_object(client)) return false;
  client.job.kind = JobKind::kCompact;
  client.job.inode = inode;
  client.job.number = content->number;
  client.job.value = find(meta_.objects, content->object)->value;
  return true;
}

bool Stepper::begin_object(Client& client) {
  if (client.session == 0 || client.job.kind != JobKind::kNone) return false;
  Places at;
  for (Place& place : at) {
    const Byte target = next_target(at);
    if (target == kNowhere) return false;
    place = {target, 0};
  }
  client.job = Job{};
  client.job.object = {client.session, client.counter++};
  client.job.geometry = 1;
  client.job.at = at;
  return true;
}

bool Stepper::put(Client& client) {
  Job& job = client.job;
  if (job.kind == JobKind::kNone || job.put) return false;
  if (job.kind == JobKind::kMove && !has_source(job)) return false;
  for (const Place& place : job.at) {
    if (place && s_.targets[place.target].state != TargetState::kUp) return false;
  }
  for (Byte i = 0; i < kFragments; ++i) {
    if (job.at[i]) store(job.at[i].target, fragment_of(job, i));
  }
  job.put = 1;
  return true;
}

bool Stepper::put_late(Client& client, Byte index) {
  Job& job = client.job;
  if (job.kind == JobKind::kNone || job.put || !job.at[index] || s_.puts.full()) return false;
  if (job.kind == JobKind::kMove && !has_source(job)) return false;
  const Put late{job.at[index].target, fragment_of(job, index)};
  if (job.kind == JobKind::kMove) {
    job = {};
  } else {
    const Byte target = next_target(job.at);
    if (target == kNowhere || job.at[index].placement > 0) return false;
    job.at[index] = {target, 1};
  }
  s_.puts.insert(late);
  return true;
}

bool Stepper::commit(Client& client) {
  const Job job = client.job;
  if ((job.kind != JobKind::kWrite && job.kind != JobKind::kCompact) || !job.put) return false;
  client.job = {};  // committed or refused
  if (rules_.commit_needs_its_session && !is_live(meta_, client.session)) return true;
  for (const Place& place : job.at) {
    const bool failed = s_.targets[place.target].state == TargetState::kFailed;
    if (failed && rules_.commit_needs_its_targets) return true;
  }
  Content* const content = find(meta_.contents, meta_.content[job.inode]);
  if (job.kind == JobKind::kCompact) {
    if (content == nullptr) return true;
    if (rules_.compaction_needs_its_number && content->number != job.number) return true;
  } else {
    meta_.expected[job.inode] = job.value;
  }
  ++meta_.index;
  Object object;
  object.id = job.object;
  object.contents = 1;
  object.geometry = job.geometry;
  object.value = job.value;
  object.at = job.at;
  for (Byte i = 0; i < kFragments; ++i) {
    const Target& target = s_.targets[job.at[i].target];
    if (held(target, fragment_of(job, i).name) == nullptr) {
      broken_ = "I1: acknowledged " + text(job.object) + " without fragment " + std::to_string(i);
    }
  }
  meta_.objects.insert(object);
  if (content != nullptr && !forks(*content)) {
    --find(meta_.objects, content->object)->contents;
    content->object = job.object;
    content->number = meta_.index;
    return true;
  }
  if (content != nullptr) --content->inodes;
  meta_.contents.insert({meta_.index, 1, meta_.index, job.object});
  meta_.content[job.inode] = meta_.index;
  return true;
}

bool Stepper::forks(const Content& content) const {
  if (content.inodes > 1) return true;
  if (rules_.pinned_contents_fork && is_opened(content.id)) return true;
  return rules_.changes_fork_until_declared && !s_.leader.undeclared.empty();
}

// ---- moving fragments ---------------------------------------------------------------------------

bool Stepper::begin_repair(Client& client, Byte which) {
  Object* const object = movable(client, which);
  if (object == nullptr) return false;
  for (Byte i = 0; i < kFragments; ++i) {
    if (s_.targets[object->at[i].target].state == TargetState::kUp) continue;
    const Byte target = next_target(object->at);
    if (target == kNowhere) return false;
    begin_move(client, *object, object->geometry);
    client.job.at[i] = {target, new_placement(object->at[i])};
    object->pending = client.job.at;
    return true;
  }
  return false;
}

bool Stepper::begin_widen(Client& client, Byte which) {
  Object* const object = movable(client, which);
  if (object == nullptr || object->geometry > 1) return false;
  begin_move(client, *object, 2);
  for (Byte i = 0; i < kFragments; ++i) {
    client.job.at[i] = {object->at[i].target, new_placement(object->at[i])};
  }
  object->pending = client.job.at;
  return true;
}

Object* Stepper::movable(const Client& client, Byte which) {
  if (!is_live(meta_, client.session) || client.job.kind != JobKind::kNone) return nullptr;
  if (which >= meta_.objects.size()) return nullptr;
  Object& object = meta_.objects[which];
  return object.contents > 0 && object.pending_by == 0 ? &object : nullptr;
}

void Stepper::begin_move(Client& client, Object& object, Byte geometry) {
  ++meta_.index;
  client.job = Job{};
  client.job.kind = JobKind::kMove;
  client.job.object = object.id;
  client.job.geometry = geometry;
  client.job.value = object.value;
  client.job.old = object.at;
  object.pending_by = client.session;
}

Byte Stepper::new_placement(const Place& old) const {
  return rules_.placements_are_new ? meta_.index : static_cast<Byte>(old.placement + 1);
}

bool Stepper::swap(Client& client) {
  const Job job = client.job;
  if (job.kind != JobKind::kMove || !job.put) return false;
  client.job = {};  // swapped or refused
  Object* const object = find(meta_.objects, job.object);
  if (object == nullptr || object->contents == 0) return true;
  const bool mine = object->pending_by == client.session && object->pending == job.at &&
                    object->at == job.old && is_live(meta_, client.session);
  if (rules_.swap_needs_its_pending && !mine) return true;
  ++meta_.index;
  for (Byte i = 0; i < kFragments; ++i) {
    if (job.at[i]) object->at[i] = job.at[i];
  }
  object->geometry = job.geometry;
  drop_pending(*object);
  return true;
}

void Stepper::drop_pending(Object& object) {
  object.pending = {};
  object.pending_by = 0;
}

bool Stepper::has_source(const Job& job) const {
  for (Byte i = 0; i < kFragments; ++i) {
    const Target& target = s_.targets[job.old[i].target];
    const FragmentName name{job.object, i, job.old[i].placement};
    if (target.state == TargetState::kUp && held(target, name) != nullptr) return true;
  }
  return false;
}

}  // namespace cairn::model
