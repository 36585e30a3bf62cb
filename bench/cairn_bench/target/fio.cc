#include "bench/cairn_bench/target/fio.h"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/cairn_bench/target/child.h"
#include "engine/base/units.h"

namespace cairn::bench {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// `direction` is "read" or "write".
Result<Rate> parse(const std::string& text, const std::string& direction) {
  const std::size_t begin = text.find('{');  // warnings may stand before it
  if (begin == std::string::npos) return fail(Code::kIo, "fio printed no JSON: " + text);
  try {
    const auto job = nlohmann::json::parse(text.substr(begin)).at("jobs").at(0);
    const auto& side = job.at(direction);
    Rate rate;
    rate.bytes = side.at("io_bytes").get<std::uint64_t>();
    rate.seconds = side.at("runtime").get<double>() / 1e3;
    const double wall_s = job.at("job_runtime").get<double>() / 1e3;
    const double percent = job.at("usr_cpu").get<double>() + job.at("sys_cpu").get<double>();
    rate.cpu_seconds = wall_s * percent / 100;
    return rate;
  } catch (const std::exception& wrong) {
    return fail(Code::kIo, std::string("fio's JSON is not as expected: ") + wrong.what());
  }
}

}  // namespace

std::optional<Fio> Fio::find(const std::string& folder) {
  Fio fio;
  fio.folder_ = folder;
  const std::string output = folder + "/fio.version";
  if (!run_command({"fio", "--version"}, output, std::chrono::seconds(10)).ok()) return {};
  fio.version_ = read_text(output);
  while (fio.version_.ends_with('\n')) fio.version_.pop_back();
  return fio;
}

Result<Rate> Fio::write(std::uint64_t bytes, std::uint32_t depth) {
  ::unlink((folder_ + "/fio.data").c_str());  // a fresh one each time, as our segments are
  return run("write", bytes, depth);
}

Result<Rate> Fio::read(std::uint64_t bytes, std::uint32_t depth) {
  return run("read", bytes, depth);
}

Result<Rate> Fio::run(const std::string& direction, std::uint64_t bytes, std::uint32_t depth) {
  const std::string output = folder_ + "/fio.json";
  TRY_VOID(
      run_command({"fio", "--name=device", "--filename=" + folder_ + "/fio.data",
                   "--rw=" + direction, "--bs=1M", "--size=" + std::to_string(bytes),
                   "--ioengine=io_uring", "--direct=1", "--iodepth=" + std::to_string(depth),
                   "--mem=malloc", "--fallocate=posix", "--end_fsync=1", "--output-format=json"},
                  output, std::chrono::minutes(10)));
  return parse(read_text(output), direction);
}

}  // namespace cairn::bench
