// The lifetime of bytes, as a model: who names which fragment, from the put to the punched hole.
// One volume of two inodes, two clients, four targets, objects of two fragments of which one is
// enough.  Everything that takes time or can be lost is a step of its own (lifetime_rules.h).
//
// A state is plain bytes: copied, compared and hashed as such.
#pragma once

#include <type_traits>

#include "tests/model/few.h"

namespace cairn::model {

using Byte = std::uint8_t;

inline constexpr std::size_t kInodes = 2;
inline constexpr std::size_t kClients = 2;
inline constexpr std::size_t kTargets = 4;
inline constexpr std::size_t kFragments = 2;  ///< of an object; one is enough to rebuild the other
inline constexpr Byte kNowhere = 0xff;

struct ObjectId {
  Byte session = 0;  ///< incarnation; 0: no object
  Byte counter = 0;
  auto operator<=>(const ObjectId&) const = default;
};

struct Place {
  Byte target = kNowhere;
  Byte placement = 0;
  auto operator<=>(const Place&) const = default;
  explicit operator bool() const { return target != kNowhere; }
};
using Places = std::array<Place, kFragments>;

struct FragmentName {
  ObjectId object;
  Byte index = 0;
  Byte placement = 0;
  auto operator<=>(const FragmentName&) const = default;
};

struct Fragment {
  FragmentName name;
  Byte geometry = 0;
  Byte value = 0;  ///< stands for the bytes
  auto operator<=>(const Fragment&) const = default;
};

// ---- metadata: durable -------------------------------------------------------------------------

struct Object {
  ObjectId id;
  Byte contents = 0;  ///< how many count it; 0: to be reclaimed
  Byte geometry = 0;
  Byte value = 0;
  Places at;
  Places pending;       ///< where a repair or widening is writing
  Byte pending_by = 0;  ///< its session
  /// Ghost: a restored copy may name what the lost future deleted.
  Byte excused = 0;
  auto operator<=>(const Object&) const = default;
};

struct Content {
  Byte id = 0;
  Byte inodes = 0;
  Byte number = 0;  ///< index of the command that made its extent
  ObjectId object;
  auto operator<=>(const Content&) const = default;
};

struct Metadata {
  Byte index = 0;
  Byte epoch = 0;
  Byte read_only = 0;  ///< an old copy, below a mark
  std::array<Byte, kInodes> content{};
  Few<Content, 5> contents;
  Few<Object, 6> objects;
  Few<Byte, 4> sessions;
  /// Ghost: what a reader of each inode must get, the value of the last acknowledged change.
  std::array<Byte, kInodes> expected{};
  auto operator<=>(const Metadata&) const = default;
};

// ---- volatile ----------------------------------------------------------------------------------

struct Open {
  Byte session = 0;
  Byte inode = 0;
  Byte content = 0;  ///< 0: registered, and its view not taken yet
  auto operator<=>(const Open&) const = default;
};

struct Leader {
  Few<Open, 4> opens;
  Few<Byte, 4> undeclared;  ///< sessions that have not declared their opens since the start
  auto operator<=>(const Leader&) const = default;
};

enum class JobKind : Byte { kNone, kWrite, kCompact, kMove };

/// What a client is in the middle of.
struct Job {
  JobKind kind = JobKind::kNone;
  Byte inode = 0;
  Byte number = 0;  ///< kCompact: of the extent that it read
  ObjectId object;
  Byte geometry = 0;
  Byte value = 0;
  Byte put = 0;  ///< every fragment is flushed
  Places at;     ///< kMove: the new places, kNowhere where nothing moves
  Places old;    ///< kMove
  auto operator<=>(const Job&) const = default;
};

enum class HandleStep : Byte { kNone, kRegistered, kViewed, kOpen };

/// A handle of a sealed file with the map that it fetched.
struct Handle {
  HandleStep step = HandleStep::kNone;
  Byte inode = 0;
  Byte content = 0;
  ObjectId object;
  Byte geometry = 0;
  Places at;
  auto operator<=>(const Handle&) const = default;
};

struct Client {
  Byte session = 0;  ///< what it believes; the metadata may have ended it
  Byte counter = 0;  ///< of the next object
  Job job;
  Handle handle;
  auto operator<=>(const Client&) const = default;
};

enum class TargetState : Byte { kUp, kAway, kFailed };

struct Target {
  TargetState state = TargetState::kUp;
  Byte epoch = 0;
  Few<Fragment, 8> fragments;
  auto operator<=>(const Target&) const = default;
};

struct Put {
  Byte target = 0;
  Fragment fragment;
  auto operator<=>(const Put&) const = default;
};

struct Delete {
  Byte target = 0;
  Byte epoch = 0;
  FragmentName name;
  auto operator<=>(const Delete&) const = default;
};

/// What the collector judges fragments by.
struct View {
  Few<Object, 6> objects;
  Few<Byte, 4> sessions;
  Few<ObjectId, kClients> floors;  ///< no id of that session below it will be committed any more
  auto operator<=>(const View&) const = default;
};

struct Collector {
  Byte busy = 0;
  Byte target = 0;
  Few<Fragment, 8> listed;
  View view;
  auto operator<=>(const Collector&) const = default;
};

struct State {
  Metadata meta;
  Metadata backup;
  Leader leader;
  std::array<Client, kClients> clients;
  std::array<Target, kTargets> targets;
  Few<Put, 3> puts;        ///< on their way, after their writers gave up on them
  Few<Delete, 6> deletes;  ///< on their way
  Collector collector;
  // What targets remember of the metadata, whatever copy of it is put back.
  Byte index_mark = 0;
  Byte epoch_mark = 0;
  Byte values = 0;  ///< ghost: handed out so far
  auto operator<=>(const State&) const = default;
};

static_assert(std::has_unique_object_representations_v<State>);  // hashed as bytes

}  // namespace cairn::model
