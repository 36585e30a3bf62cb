// How much redundancy a volume asks for, and what of it the cluster can hold now.  Pure arithmetic.
// Not the choice of targets (placement.h), not where bytes lie (geometry.h).  Called by the
// metadata when a policy is set and when an object is reserved, and by the CLI to read and print.
// Thread: any.  Source: DESIGN section 3.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/layout/geometry.h"

namespace cairn::layout {

/// copies(n) is k = 1, m = n - 1.
struct Policy {
  std::uint8_t data = 1;    ///< k
  std::uint8_t parity = 0;  ///< m
  constexpr auto operator<=>(const Policy&) const = default;
  std::uint32_t fragments() const { return std::uint32_t{data} + parity; }
};

/// An object below k times this is kept as m+1 copies: units would be mostly padding.
inline constexpr std::uint64_t kStripeFromBytes = 8 * kKiB;

/// "ec(4,2)" or "copies(2)"; what parse_policy reads.
std::string to_string(const Policy& policy);
/// Each policy has one spelling: ec takes k of 2..16 and m of 1..4, copies takes 1..4; no spaces.
/// kInvalid names the text and what is allowed.
Result<Policy> parse_policy(std::string_view text);

/// The policy of a volume that names none.  kUnavailable when no domain is healthy.
Result<Policy> default_policy(std::uint32_t healthy_domains);

/// May a volume have this policy?  kInvalid says how many failure domains are missing.
Status check_fits(const Policy& policy, std::uint32_t domains);

/// What new objects are written with while only `healthy_domains` are: the policy itself, or
/// k' = h - m data fragments, so that the loss of any m targets is always survived (I1).
/// kUnavailable below m + 1 domains.
Result<Policy> narrow(const Policy& policy, std::uint32_t healthy_domains);

/// Largest object of this policy: kObjectBytesMax, or less where the hash table would pass its
/// limit (a policy with m = 4 that was narrowed to k = 1).  A multiple of k * kBlockBytes.
std::uint64_t object_bytes_max(const Policy& policy);

/// Geometry of one object under `policy`; m+1 copies below k * kStripeFromBytes.  The object has
/// at most object_bytes_max(policy) bytes.
Geometry geometry_for(const Policy& policy, std::uint64_t object_bytes);

}  // namespace cairn::layout
