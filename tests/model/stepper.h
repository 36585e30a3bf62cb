// One step on one state, under rules: the body of Lifetime::apply.  A method is false where the
// step is not possible; the state is then of no further use.
#pragma once

#include <string>

#include "tests/model/lifetime_rules.h"

namespace cairn::model {

template <class Items, class Id>
auto* find(Items& items, const Id& id) {
  const auto at = std::ranges::find_if(items, [&id](const auto& each) { return each.id == id; });
  return at == items.end() ? nullptr : &*at;
}

inline bool is_live(const Metadata& meta, Byte session) { return meta.sessions.contains(session); }
const Fragment* held(const Target& target, const FragmentName& name);
std::string text(const ObjectId& id);
std::string text(const FragmentName& name);
/// Whether every fragment that a record names, and whose target did not fail, is there and right.
/// Empty, or what is missing.
std::string missing_of(const State& state, const Object& object);

class Stepper {
 public:
  Stepper(const Rules& rules, State& state, std::string& broken)
      : rules_(rules), s_(state), meta_(state.meta), broken_(broken) {}

  // sessions
  bool new_session(Client& client);
  bool expire(Client& client);
  bool die(Client& client);
  bool forget(Client& client);

  // writing
  bool begin_write(Client& client, Byte inode);
  bool begin_compact(Client& client, Byte inode);
  bool put(Client& client);
  /// The writer goes on with another target under the next placement; a repair gives up.
  bool put_late(Client& client, Byte index);
  bool commit(Client& client);

  // moving fragments
  bool begin_repair(Client& client, Byte which);
  bool begin_widen(Client& client, Byte which);
  bool swap(Client& client);

  // opening
  bool open_begins(Client& client, Byte inode);
  bool open_ends(Client& client);
  bool close(Client& client);
  bool declare(Client& client);

  // names
  bool clone(Byte inode);
  /// What must not exist: re-use of bytes by what a client knows of them.
  bool clone_from_handle(Client& client);
  bool unlink(Byte inode);

  // the leader
  bool drop_content(Byte which);
  bool reclaim(Byte which);
  bool reclaimed(Byte which);
  bool restart();
  bool backup();
  /// An old copy is put back.  Whoever had a handle finds another generation.
  bool restore();
  bool accept_loss();

  // collector and network
  bool list(Byte which);
  bool judge(Byte which);
  bool deliver_put(Byte which);
  bool deliver_delete(Byte which);

  // targets
  bool away(Byte which);
  bool back(Byte which);
  /// One of them: more is beyond what the objects of this model survive.
  bool fail(Byte which);
  /// Once every target refuses what an earlier metadata sent, a restored copy answers for all that
  /// it still finds.
  bool learn_epoch(Byte which);

 private:
  bool forget_opens(Byte session);
  bool begin_object(Client& client);
  bool forks(const Content& content) const;
  Object* movable(const Client& client, Byte which);
  void begin_move(Client& client, Object& object, Byte geometry);
  Byte new_placement(const Place& old) const;
  static void drop_pending(Object& object);
  bool has_source(const Job& job) const;
  bool may_open(const Client& client) const;
  bool register_open(Client& client, HandleStep next);
  bool take_view(Client& client, HandleStep next);
  bool is_opened(Byte content) const;
  View view() const;
  bool is_garbage(const FragmentName& name, const View& view) const;
  bool send_delete(Byte target, const FragmentName& name);
  bool all_up() const;
  /// The first that is up and not among `taken`.
  Byte next_target(const Places& taken) const;
  static Fragment fragment_of(const Job& job, Byte index);
  /// A repeated put of the same bytes succeeds.
  void store(Byte which, const Fragment& fragment);

  const Rules& rules_;
  State& s_;
  Metadata& meta_;
  std::string& broken_;
};

}  // namespace cairn::model
