// Sessions, what they open, and the names of files.
#include "tests/model/stepper.h"

namespace cairn::model {

// ---- sessions -----------------------------------------------------------------------------------

bool Stepper::new_session(Client& client) {
  if (is_live(meta_, client.session) || meta_.sessions.full()) return false;
  forget_opens(client.session);
  client = Client{};
  client.session = ++meta_.index;
  meta_.sessions.insert(client.session);
  return true;
}

bool Stepper::expire(Client& client) {
  if (!is_live(meta_, client.session)) return false;
  ++meta_.index;
  meta_.sessions.erase(client.session);
  s_.leader.undeclared.erase(client.session);
  for (Object& object : meta_.objects) {
    if (object.pending_by == client.session) drop_pending(object);
  }
  return true;
}

bool Stepper::die(Client& client) {
  if (client.session == 0) return false;
  expire(client);
  forget_opens(client.session);
  client = Client{};
  return true;
}

bool Stepper::forget(Client& client) {
  if (is_live(meta_, client.session)) return false;
  client.handle = {};
  return forget_opens(client.session);
}

bool Stepper::forget_opens(Byte session) {
  const std::size_t before = s_.leader.opens.size();
  s_.leader.opens.erase_if([session](const Open& open) { return open.session == session; });
  return s_.leader.opens.size() < before;
}

// ---- opening ------------------------------------------------------------------------------------

bool Stepper::open_begins(Client& client, Byte inode) {
  if (client.handle.step != HandleStep::kNone || !may_open(client)) return false;
  client.handle.inode = inode;
  return rules_.opens_register_first ? register_open(client, HandleStep::kRegistered)
                                     : take_view(client, HandleStep::kViewed);
}

bool Stepper::open_ends(Client& client) {
  if (client.handle.step == HandleStep::kViewed) {
    return may_open(client) && register_open(client, HandleStep::kOpen);
  }
  if (client.handle.step != HandleStep::kRegistered) return false;
  const Open unbound{client.session, client.handle.inode, 0};
  const bool registered = s_.leader.opens.contains(unbound);
  s_.leader.opens.erase(unbound);
  if (!registered || !take_view(client, HandleStep::kOpen)) {
    client.handle = {};  // the leader restarted meanwhile, or the name is gone: the open fails
    return true;
  }
  s_.leader.opens.insert({client.session, client.handle.inode, client.handle.content});
  return true;
}

bool Stepper::may_open(const Client& client) const {
  return is_live(meta_, client.session) && !s_.leader.undeclared.contains(client.session) &&
         !s_.leader.opens.full();
}

bool Stepper::register_open(Client& client, HandleStep next) {
  s_.leader.opens.insert({client.session, client.handle.inode, client.handle.content});
  client.handle.step = next;
  return true;
}

bool Stepper::take_view(Client& client, HandleStep next) {
  const Content* const content = find(meta_.contents, meta_.content[client.handle.inode]);
  if (content == nullptr) {
    client.handle = {};
    return false;
  }
  const Object& object = *find(meta_.objects, content->object);
  client.handle = {next, client.handle.inode, content->id, object.id, object.geometry, object.at};
  return true;
}

bool Stepper::close(Client& client) {
  if (client.handle.step != HandleStep::kOpen) return false;
  s_.leader.opens.erase({client.session, client.handle.inode, client.handle.content});
  client.handle = {};
  return true;
}

bool Stepper::declare(Client& client) {
  if (!s_.leader.undeclared.contains(client.session) || s_.leader.opens.full()) return false;
  s_.leader.undeclared.erase(client.session);
  if (client.handle.step == HandleStep::kOpen) {
    s_.leader.opens.insert({client.session, client.handle.inode, client.handle.content});
  } else {
    client.handle = {};
  }
  return true;
}

bool Stepper::is_opened(Byte content) const {
  return std::ranges::any_of(s_.leader.opens, [content](const Open& open) {
    return open.content == content || open.content == 0;  // 0: may get any
  });
}

// ---- names --------------------------------------------------------------------------------------

bool Stepper::clone(Byte inode) {
  const Byte to = static_cast<Byte>(1 - inode);
  Content* const content = find(meta_.contents, meta_.content[inode]);
  if (content == nullptr || meta_.content[to] == content->id) return false;
  unlink(to);
  ++meta_.index;
  ++content->inodes;
  meta_.content[to] = content->id;
  meta_.expected[to] = meta_.expected[inode];
  return true;
}

bool Stepper::clone_from_handle(Client& client) {
  if (rules_.counts_never_rise_from_zero || client.handle.step != HandleStep::kOpen) return false;
  Object* const object = find(meta_.objects, client.handle.object);
  if (object == nullptr || meta_.contents.full()) return false;
  unlink(1);
  ++meta_.index;
  ++object->contents;
  meta_.contents.insert({meta_.index, 1, meta_.index, object->id});
  meta_.content[1] = meta_.index;
  meta_.expected[1] = object->value;
  return true;
}

bool Stepper::unlink(Byte inode) {
  Content* const content = find(meta_.contents, meta_.content[inode]);
  if (content == nullptr) return false;
  ++meta_.index;
  --content->inodes;
  meta_.content[inode] = 0;
  meta_.expected[inode] = 0;
  return true;
}

}  // namespace cairn::model
