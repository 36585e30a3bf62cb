#include "engine/layout/placement.h"

#include <algorithm>
#include <string>

#include "engine/base/limits.h"
#include "engine/base/random.h"
#include "engine/base/units.h"

namespace cairn::layout {
namespace {

/// Weights count MiB; the cap keeps the sum of 2^26 targets of this size below 2^64.
constexpr std::uint64_t kWeightMibMax = std::uint64_t{1} << 32;
/// A queue of this many MiB halves the chance of a target: about what a device writes in 50 ms.
constexpr std::uint64_t kHalfChanceQueueMib = 64;

/// Usable targets of one failure domain: a run of the sorted list.
struct Domain {
  std::span<const Candidate> targets;
  std::uint64_t weight = 0;
};

bool contains(std::span<const std::uint64_t> list, std::uint64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool usable(const Candidate& c, Pool pool, std::uint64_t fragment_bytes) {
  return c.state == TargetState::kUp && c.pool == pool && c.free_bytes >= fragment_bytes &&
         c.free_bytes > 0;
}

std::uint64_t weight_of(const Candidate& c) {
  const std::uint64_t free_mib = std::min(c.free_bytes / kMiB, kWeightMibMax);
  const std::uint64_t queued_mib = std::min(c.queued_bytes / kMiB, kWeightMibMax);
  // Never 0: a nearly full or very busy target is still better than none.
  return std::max<std::uint64_t>(
      1, free_mib * kHalfChanceQueueMib / (kHalfChanceQueueMib + queued_mib));
}

/// Sorted by domain, then target, so that the caller's order can't change the choice.
std::vector<Candidate> usable_sorted(std::span<const Candidate> candidates,
                                     const PlacementRequest& request) {
  std::vector<Candidate> out;
  for (const Candidate& c : candidates) {
    if (!usable(c, request.pool, request.fragment_bytes)) continue;
    if (contains(request.excluded_targets, c.target)) continue;
    if (contains(request.used_domains, c.domain)) continue;
    out.push_back(c);
  }
  std::sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) {
    return a.domain != b.domain ? a.domain < b.domain : a.target < b.target;
  });
  return out;
}

std::vector<Domain> group_by_domain(std::span<const Candidate> sorted) {
  std::vector<Domain> out;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    std::uint64_t weight = 0;
    for (; end < sorted.size() && sorted[end].domain == sorted[i].domain; ++end) {
      weight += weight_of(sorted[end]);
    }
    out.push_back({sorted.subspan(i, end - i), weight});
    i = end;
  }
  return out;
}

/// Index of the element that holds `point` when the weights are laid end to end.
template <class List, class Weight>
std::size_t at_point(const List& list, std::uint64_t point, Weight weight) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (point < weight(list[i])) return i;
    point -= weight(list[i]);
  }
  CAIRN_CHECK(false && "a point beyond the sum of the weights");
  return 0;
}

}  // namespace

Result<std::vector<std::uint64_t>> choose_targets(std::span<const Candidate> candidates,
                                                  const PlacementRequest& request) {
  if (request.count == 0 || request.count > kFragmentsMax) {
    return fail(Code::kInvalid, "placement: " + std::to_string(request.count) +
                                    " fragments asked for, it must be 1 to " +
                                    std::to_string(kFragmentsMax));
  }
  const std::vector<Candidate> sorted = usable_sorted(candidates, request);
  std::vector<Domain> domains = group_by_domain(sorted);
  if (domains.size() < request.count) {
    return fail(Code::kUnavailable,
                "placement: " + std::to_string(request.count) +
                    " more failure domains are needed, " + std::to_string(domains.size()) +
                    " have an up target with " + format_bytes(request.fragment_bytes) + " free");
  }
  std::uint64_t total = 0;
  for (const Domain& d : domains) total += d.weight;

  SplitMix64 draw(request.seed);
  std::vector<std::uint64_t> chosen;
  while (chosen.size() < request.count) {
    const std::size_t i =
        at_point(domains, draw.below(total), [](const Domain& d) { return d.weight; });
    const Domain domain = domains[i];
    chosen.push_back(
        domain.targets[at_point(domain.targets, draw.below(domain.weight), weight_of)].target);
    total -= domain.weight;
    domains.erase(domains.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return chosen;
}

std::uint32_t healthy_domains(std::span<const Candidate> candidates, Pool pool,
                              std::uint64_t fragment_bytes) {
  std::vector<std::uint64_t> domains;
  for (const Candidate& c : candidates) {
    if (usable(c, pool, fragment_bytes)) domains.push_back(c.domain);
  }
  std::sort(domains.begin(), domains.end());
  domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
  return static_cast<std::uint32_t>(domains.size());
}

}  // namespace cairn::layout
