// Identifiers.  Each is a type of its own, so a segment number can't stand where an epoch belongs.
// Formats of their keys and headers are in docs/formats.md.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>

#include "engine/base/status.h"

namespace cairn {

/// An integer with a meaning.  Tag makes the types distinct.
template <class Tag, class Rep>
struct Id {
  Rep value = 0;
  constexpr auto operator<=>(const Id&) const = default;
};

/// Number of the cluster map; grows when a target's membership or state changes.
using Epoch = Id<struct EpochTag, std::uint64_t>;
/// Index of a metadata command.
using CommitIndex = Id<struct CommitIndexTag, std::uint64_t>;
/// A file, directory or link of a volume; what `stat` shows.  Never reused.
using InodeId = Id<struct InodeTag, std::uint64_t>;
/// The bytes of a file as the metadata keeps them: an extent map.  Never reused.
using ContentId = Id<struct ContentTag, std::uint64_t>;
/// Incarnation of a session: the index of the command that opened it.
using SessionId = Id<struct SessionTag, std::uint64_t>;
/// A storage device as the cluster map numbers it; a replaced device gets another number.
using TargetId = Id<struct TargetTag, std::uint64_t>;
/// A shared cloud disk.
using VolumeId = Id<struct VolumeTag, std::uint64_t>;
/// One segment file of a target; never reused.
using SegmentNumber = Id<struct SegmentTag, std::uint64_t>;
/// One try to put one fragment somewhere; never reused for that object and index.
using Placement = Id<struct PlacementTag, std::uint32_t>;

/// Session incarnation and a counter of that session, so a dead session's objects are one key
/// range.
struct ObjectId {
  std::uint64_t incarnation = 0;
  std::uint64_t counter = 0;
  constexpr auto operator<=>(const ObjectId&) const = default;
};

/// Which fragment, and which try to place it.  Puts, gets and deletes name it exactly.
struct FragmentName {
  ObjectId object;
  std::uint8_t index = 0;
  Placement placement;
  constexpr auto operator<=>(const FragmentName&) const = default;
};

/// 16 random bytes that name a target or a cluster.
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
  constexpr auto operator<=>(const Uuid&) const = default;
  bool is_nil() const { return *this == Uuid{}; }
};

/// "0000002a.00000007/3.1": incarnation.counter/index.placement in hexadecimal.
std::string to_string(const ObjectId& id);
std::string to_string(const FragmentName& name);
/// The usual 8-4-4-4-12 form.
std::string to_string(const Uuid& uuid);
/// kInvalid names the text.
Result<Uuid> parse_uuid(std::string_view text);
Result<FragmentName> parse_fragment_name(std::string_view text);

}  // namespace cairn

template <>
struct std::hash<cairn::FragmentName> {
  std::size_t operator()(const cairn::FragmentName& name) const noexcept {
    // In-memory tables only: nothing on disk or on the wire depends on this value.
    std::uint64_t h = name.object.incarnation * 0x9e3779b97f4a7c15ULL;
    h = (h ^ name.object.counter) * 0xc2b2ae3d27d4eb4fULL;
    h = (h ^ (static_cast<std::uint64_t>(name.index) << 32 | name.placement.value)) *
        0x9e3779b97f4a7c15ULL;
    return static_cast<std::size_t>(h ^ (h >> 29));
  }
};
