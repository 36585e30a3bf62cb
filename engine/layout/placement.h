// Which targets the fragments of an object go to.  A pure function of its arguments: the same
// input gives the same choice on every machine, library and build, whatever the order of the
// candidates (golden vectors in tests/unit/layout).  Not who is up, and not the numbers of
// placements: the metadata keeps both.  Called by the metadata's leader, for new objects, for
// re-placement of one fragment and by repair.  Thread: any.  Source: DESIGN section 3.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/status.h"

namespace cairn::layout {

enum class TargetState : std::uint8_t { kUp, kSuspect, kDown, kDraining, kFailed };
enum class Pool : std::uint8_t { kFast, kCapacity };

/// A target as the cluster map and its last heartbeat show it.
struct Candidate {
  std::uint64_t target = 0;  ///< its number in the cluster map
  std::uint64_t domain = 0;  ///< failure domain
  Pool pool = Pool::kFast;
  TargetState state = TargetState::kUp;
  std::uint64_t free_bytes = 0;    ///< not promised to anyone
  std::uint64_t queued_bytes = 0;  ///< of puts that wait or run there
  constexpr auto operator<=>(const Candidate&) const = default;
};

struct PlacementRequest {
  std::uint32_t count = 0;           ///< fragments to place, each in another domain
  std::uint64_t fragment_bytes = 0;  ///< with its header; a target with less free is not chosen
  Pool pool = Pool::kFast;
  std::uint64_t seed = 0;  ///< a random field of the command
  /// Targets never to choose, such as the one that was silent.  Borrowed for the call.
  std::span<const std::uint64_t> excluded_targets;
  /// Domains that hold a fragment of this object already.  Borrowed for the call.
  std::span<const std::uint64_t> used_domains;
};

/// Targets in the order of the fragments.  Domains are drawn without repetition, each with a chance
/// that grows with its free bytes and falls with its queue; so is the target within its domain.
/// kInvalid: count is 0 or above kFragmentsMax.  kUnavailable: fewer domains than `count` have an
/// up target with room; nothing was chosen, and the caller narrows the policy (policy.h) or waits.
Result<std::vector<std::uint64_t>> choose_targets(std::span<const Candidate> candidates,
                                                  const PlacementRequest& request);

/// Failure domains of `pool` with an up target that has `fragment_bytes` free.
std::uint32_t healthy_domains(std::span<const Candidate> candidates, Pool pool,
                              std::uint64_t fragment_bytes);

}  // namespace cairn::layout
