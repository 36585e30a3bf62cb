#include "engine/layout/policy.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace cairn::layout {
namespace {

constexpr std::uint32_t kStripedDataMin = 2;

/// "name(1,2)" -> {1, 2}; nothing for any other text.
std::optional<std::vector<std::uint32_t>> arguments_of(std::string_view text,
                                                       std::string_view name) {
  if (!text.starts_with(name)) return std::nullopt;
  text.remove_prefix(name.size());
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return std::nullopt;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size() - 1;
  std::vector<std::uint32_t> values;
  while (true) {
    std::uint32_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    // A leading zero would be a second spelling of the same policy.
    if (error != std::errc() || (*at == '0' && next - at > 1)) return std::nullopt;
    values.push_back(value);
    if (next == end) return values;
    if (*next != ',') return std::nullopt;
    at = next + 1;
  }
}

bool within(std::uint32_t value, std::uint32_t low, std::uint32_t high) {
  return low <= value && value <= high;
}

}  // namespace

std::string to_string(const Policy& policy) {
  if (policy.data == 1) return "copies(" + std::to_string(policy.fragments()) + ")";
  return "ec(" + std::to_string(policy.data) + "," + std::to_string(policy.parity) + ")";
}

Result<Policy> parse_policy(std::string_view text) {
  if (const auto args = arguments_of(text, "ec"); args && args->size() == 2) {
    const auto [k, m] = std::pair((*args)[0], (*args)[1]);
    if (within(k, kStripedDataMin, kDataFragmentsMax) && within(m, 1, kParityFragmentsMax)) {
      return Policy{static_cast<std::uint8_t>(k), static_cast<std::uint8_t>(m)};
    }
  }
  if (const auto args = arguments_of(text, "copies"); args && args->size() == 1) {
    if (within(args->front(), 1, kCopiesMax)) {
      return Policy{1, static_cast<std::uint8_t>(args->front() - 1)};
    }
  }
  return fail(Code::kInvalid, "policy '" + std::string(text) +
                                  "': write ec(k,m) with k of 2 to 16 and m of 1 to 4, or "
                                  "copies(n) with n of 1 to 4");
}

Result<Policy> default_policy(std::uint32_t healthy_domains) {
  if (healthy_domains == 0) {
    return fail(Code::kUnavailable,
                "policy: no failure domain has an up target with space; add or start a target");
  }
  if (healthy_domains == 1) return Policy{1, 0};
  if (healthy_domains <= 3) return Policy{1, 1};
  if (healthy_domains <= 5) return Policy{2, 1};
  if (healthy_domains <= 11) return Policy{4, 2};
  return Policy{8, 2};
}

Status check_fits(const Policy& policy, std::uint32_t domains) {
  if (policy.fragments() <= domains) return {};
  return {Code::kInvalid, "policy " + to_string(policy) + " needs " +
                              std::to_string(policy.fragments()) +
                              " failure domains, the cluster has " + std::to_string(domains) +
                              "; add targets in other domains or take a smaller policy"};
}

Result<Policy> narrow(const Policy& policy, std::uint32_t healthy_domains) {
  if (healthy_domains >= policy.fragments()) return policy;
  if (healthy_domains <= policy.parity) {
    return fail(Code::kUnavailable,
                "policy " + to_string(policy) + ": only " + std::to_string(healthy_domains) +
                    " failure domains are healthy, and " + std::to_string(policy.parity + 1) +
                    " are the least that keep its promise; start targets");
  }
  return Policy{static_cast<std::uint8_t>(healthy_domains - policy.parity), policy.parity};
}

std::uint64_t object_bytes_max(const Policy& policy) {
  const std::uint64_t hashes = kHashTableBytesMax / sizeof(std::uint64_t);
  const std::uint64_t row = policy.data * kBlockBytes;
  const std::uint64_t rows = std::min(hashes / policy.fragments(), kObjectBytesMax / row);
  // k that doesn't divide the object ends in a smaller tail unit, and its table still fits.
  return rows == kObjectBytesMax / row ? kObjectBytesMax : rows * row;
}

Geometry geometry_for(const Policy& policy, std::uint64_t object_bytes) {
  Geometry geometry;
  geometry.data = object_bytes < policy.data * kStripeFromBytes ? 1 : policy.data;
  geometry.parity = policy.parity;
  geometry.object_bytes = object_bytes;
  return geometry;
}

}  // namespace cairn::layout
