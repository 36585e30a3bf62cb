#include "bench/cairn_bench/target/result.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/units.h"

namespace cairn::bench {
namespace {

using Json = nlohmann::ordered_json;

// Issue "a target that never lies" and DESIGN section 12.
constexpr double kWriteRatioMin = 0.85;
constexpr double kReadRatioMin = 0.9;
constexpr double kIndexCostMax = 0.05;
constexpr double kWriteCpuMax = 0.25;
constexpr double kRestartSecondsMax = 1.0;

double highest(const std::vector<double>& values) {
  return values.empty() ? 0 : std::ranges::max(values);
}

Json figures(const std::vector<Rate>& rates, double (Rate::*figure)() const) {
  Json list = Json::array();
  for (const Rate& rate : rates) list.push_back((rate.*figure)());
  return list;
}

Json to_json(const Phase& phase) {
  Json out;
  out["name"] = phase.name;
  out["fragment_bytes"] = phase.fragment_bytes;
  out["depth"] = phase.depth;
  out["mib_per_s"] = figures(phase.ours, &Rate::mib_per_s);
  out["cpu_s_per_gib"] = figures(phase.ours, &Rate::cpu_s_per_gib);
  out["copy_cpu_s_per_gib"] = figures(phase.ours, &Rate::copy_cpu_s_per_gib);
  out["fio_mib_per_s"] = figures(phase.fio, &Rate::mib_per_s);
  out["fio_cpu_s_per_gib"] = figures(phase.fio, &Rate::cpu_s_per_gib);
  out["ratio_median"] = phase.fio.empty() ? Json() : Json(phase.ratio());
  return out;
}

std::vector<double> rates_of(const std::vector<Rate>& rates) {
  std::vector<double> out;
  for (const Rate& rate : rates) out.push_back(rate.mib_per_s());
  return out;
}

}  // namespace

std::vector<Gate> gates(const TargetResult& result) {
  const Throughput& throughput = result.throughput;
  std::vector<Gate> out;
  for (const Phase& phase : throughput.phases) {
    if (phase.fio.empty()) continue;
    const bool write = phase.name.starts_with("write");
    out.push_back(
        {phase.name, "of fio", phase.ratio(), write ? kWriteRatioMin : kReadRatioMin, true});
  }
  out.push_back(
      {"index_cost", "of the write rate without index", throughput.index_cost(), kIndexCostMax});
  for (const char* name : {"write_8mib", "write_1mib"}) {
    out.push_back({std::string(name) + "_cpu", "CPU s/GiB without the copy",
                   throughput.phase(name).median_of(&Rate::own_cpu_s_per_gib), kWriteCpuMax});
  }
  if (result.restart) {
    out.push_back(
        {"restart_after_stop", "s", highest(result.restart->stopped_s), kRestartSecondsMax});
    out.push_back(
        {"restart_after_kill", "s", highest(result.restart->killed_s), kRestartSecondsMax});
  }
  return out;
}

void print_table(const TargetResult& result) {
  std::printf("%-30s %10s %10s %10s %10s %10s\n", "median of the rounds", "MiB/s", "fio MiB/s",
              "CPU s/GiB", "of it copy", "depth");
  for (const Phase& phase : result.throughput.phases) {
    std::printf("%-30s %10.0f %10.0f %10.3f %10.3f %10u\n", phase.name.c_str(),
                median(rates_of(phase.ours)), median(rates_of(phase.fio)),
                phase.median_of(&Rate::cpu_s_per_gib), phase.median_of(&Rate::copy_cpu_s_per_gib),
                phase.depth);
  }
  if (result.fio_version.empty()) {
    std::printf("fio is not installed: nothing to compare the rates with (tools/setup soak)\n");
  }
  for (const Gate& gate : gates(result)) {
    std::printf("%s: %.3f %s (gate %s %.2f) %s\n", gate.name.c_str(), gate.value, gate.unit.c_str(),
                gate.at_least ? ">=" : "<=", gate.limit, gate.ok() ? "ok" : "MISSED");
  }
}

void print_json(const TargetResult& result) {
  Json out;
  out["directory"] = result.directory;
  out["round_bytes"] = result.options.round_bytes;
  out["rounds"] = result.options.rounds;
  out["writers"] = result.options.writers;
  out["fio_version"] = result.fio_version.empty() ? Json() : Json(result.fio_version);
  out["phases"] = Json::array();
  for (const Phase& phase : result.throughput.phases) out["phases"].push_back(to_json(phase));
  out["index_cost"] = result.throughput.index_cost();
  if (result.restart) {
    Json& restart = out["restart"];
    restart["fragments"] = result.restart->fragments;
    restart["stopped_s"] = result.restart->stopped_s;
    restart["killed_s"] = result.restart->killed_s;
    restart["killed_live_bytes"] = result.restart->load_bytes;
  }
  out["gates"] = Json::array();
  for (const Gate& gate : gates(result)) {
    Json each;
    each["name"] = gate.name;
    each["value"] = gate.value;
    each["unit"] = gate.unit;
    each["limit"] = gate.limit;
    each["at_least"] = gate.at_least;
    each["ok"] = gate.ok();
    out["gates"].push_back(std::move(each));
  }
  std::cout << out.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace cairn::bench
