#include "tests/crash/pristine_target.h"

#include <cstdio>
#include <fstream>

#include "bench/cairn_bench/target/fragment_io.h"
#include "engine/base/random.h"
#include "server/host/target_host.h"

namespace cairn::crash {
namespace {

constexpr std::uint64_t kSegment = 1 * kMiB;
/// Each leaves a log or a table file in the index.
constexpr std::uint64_t kStarts = 3;

std::string segment_file(SegmentNumber segment) {
  char file[64];
  std::snprintf(file, sizeof file, "segments/%016llx.seg",
                static_cast<unsigned long long>(segment.value));
  return file;
}

Status write_places(store::TargetStore& target, const std::string& places_file) {
  TRY(const auto page, target.list(std::nullopt, kListPageMax));
  std::ofstream out(places_file);
  for (const store::FragmentInfo& info : page) {
    out << info.name.object.counter << ' ' << info.segment.value << ' ' << info.segment_offset
        << ' ' << info.header_bytes << ' ' << info.data_bytes << '\n';
  }
  out.flush();
  return out ? Status() : Status(Code::kIo, "write " + places_file);
}

/// Puts every kStarts-th object and deletes some of them at once.
Status put_share(server::TargetHost& host, store::TargetStore& target, std::uint64_t share) {
  const bench::AlignedBuffer buffer(round_up(kObjectMax, kPageBytes));
  for (std::uint64_t i = 1; i <= kObjects; ++i) {
    if (i % kStarts != share) continue;
    const Bytes padded = fill_object(i, buffer.memory());
    const bench::Object object = bench::make_object(name_of(i), object_bytes(i), padded);
    TRY_VOID(host.run(bench::put_object(target, object, padded)));
    if (is_deleted(i)) TRY_VOID(host.run(target.delete_fragments({name_of(i)}, Epoch{})));
  }
  return {};
}

}  // namespace

FragmentName name_of(std::uint64_t object) {
  FragmentName name;
  name.object = {1, object};
  return name;
}

bool is_deleted(std::uint64_t object) { return object % 5 == 0; }

std::uint64_t object_bytes(std::uint64_t object) {
  return SplitMix64(object).between(1, kObjectMax);
}

MutableBytes fill_object(std::uint64_t object, MutableBytes into) {
  const std::uint64_t bytes = object_bytes(object);
  const MutableBytes padded = into.first(round_up(bytes, kPageBytes));
  SplitMix64 random(object * 77);
  for (std::size_t at = 0; at < padded.size(); ++at) {
    padded[at] = at < bytes ? static_cast<std::byte>(random.next()) : std::byte{0};
  }
  return padded;
}

Status make_pristine_target(const std::string& directory, const std::string& places_file) {
  TRY(auto host, server::TargetHost::make());
  store::InitOptions init;
  init.capacity_bytes = 64 * kMiB;
  init.segment_bytes = kSegment;
  TRY_VOID(host->run(store::init_target(host->env(), directory, init)));
  for (std::uint64_t start = 0; start < kStarts; ++start) {
    host.reset();
    TRY(host, server::TargetHost::make());
    store::StoreOptions options;
    options.directory = directory;
    TRY(const auto target, host->run(store::TargetStore::open(host->env(), options)));
    TRY_VOID(put_share(*host, *target, start));
    TRY_VOID(write_places(*target, places_file));
    TRY_VOID(host->run(target->close()));
  }
  return {};
}

std::vector<Place> read_places(const std::string& places_file) {
  std::vector<Place> places;
  std::ifstream in(places_file);
  for (Place place; in >> place.object >> place.info.segment.value >> place.info.segment_offset >>
                    place.info.header_bytes >> place.info.data_bytes;) {
    place.file = segment_file(place.info.segment);
    places.push_back(place);
  }
  return places;
}

}  // namespace cairn::crash
