#include "engine/layout/geometry.h"

#include <string>

namespace cairn::layout {
namespace {

std::uint64_t stripe_bytes(const Geometry& g) { return std::uint64_t{g.data} * g.unit_bytes; }

}  // namespace

Status validate(const Geometry& g) {
  if (g.data == 0 || g.data > kDataFragmentsMax) {
    return {Code::kInvalid, "geometry: k is " + std::to_string(g.data) + ", it must be 1 to " +
                                std::to_string(kDataFragmentsMax)};
  }
  if (g.parity > kParityFragmentsMax) {
    return {Code::kInvalid, "geometry: m is " + std::to_string(g.parity) + ", it must be 0 to " +
                                std::to_string(kParityFragmentsMax)};
  }
  if (g.unit_bytes == 0 || g.unit_bytes % kBlockBytes != 0 || g.unit_bytes > kUnitBytesMax) {
    return {Code::kInvalid, "geometry: unit_bytes is " + std::to_string(g.unit_bytes) +
                                ", it must be a multiple of 64 KiB up to " +
                                format_bytes(kUnitBytesMax)};
  }
  if (g.object_bytes > kObjectBytesMax) {
    return {Code::kInvalid, Reason::kTooLarge,
            "geometry: object_bytes is " + std::to_string(g.object_bytes) + ", at most " +
                format_bytes(kObjectBytesMax)};
  }
  if (table_bytes(g) > kHashTableBytesMax) {
    return {Code::kInvalid, Reason::kTooLarge,
            "geometry: the hash table would have " + std::to_string(table_bytes(g)) +
                " bytes, at most " + std::to_string(kHashTableBytesMax) +
                "; use fewer fragments or a smaller object"};
  }
  return {};
}

std::uint64_t tail_unit_bytes(const Geometry& g) {
  const std::uint64_t tail = g.object_bytes % stripe_bytes(g);
  return round_up(divide_up(tail, g.data), kPageBytes);
}

std::uint64_t fragment_bytes(const Geometry& g) {
  return g.object_bytes / stripe_bytes(g) * g.unit_bytes + tail_unit_bytes(g);
}

std::uint32_t fragment_blocks(const Geometry& g) {
  return static_cast<std::uint32_t>(divide_up(fragment_bytes(g), kBlockBytes));
}

std::uint64_t table_bytes(const Geometry& g) {
  return std::uint64_t{g.fragments()} * fragment_blocks(g) * sizeof(std::uint64_t);
}

Place locate(const Geometry& g, std::uint64_t x) {
  CAIRN_CHECK(x < g.object_bytes);
  const std::uint64_t stripe = x / stripe_bytes(g);
  const std::uint64_t in_stripe = x % stripe_bytes(g);
  const bool tail = stripe == g.object_bytes / stripe_bytes(g);
  const std::uint64_t unit = tail ? tail_unit_bytes(g) : g.unit_bytes;
  return {static_cast<std::uint32_t>(in_stripe / unit), stripe * g.unit_bytes + in_stripe % unit};
}

std::uint64_t object_offset(const Geometry& g, Place place) {
  CAIRN_CHECK(place.fragment < g.data && place.offset < fragment_bytes(g));
  const std::uint64_t stripe = place.offset / g.unit_bytes;
  const bool tail = stripe == g.object_bytes / stripe_bytes(g);
  const std::uint64_t unit = tail ? tail_unit_bytes(g) : g.unit_bytes;
  return stripe * stripe_bytes(g) + place.fragment * unit + place.offset % g.unit_bytes;
}

}  // namespace cairn::layout
