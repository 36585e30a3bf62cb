#include "bench/cairn_bench/target/ack_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace cairn::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string to_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string to_hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

/// Length of the part that ends with a newline.
Result<off_t> whole_lines(int descriptor, const std::string& path) {
  struct stat info{};
  if (::fstat(descriptor, &info) != 0) return fail(status_from_errno(errno, "stat " + path));
  off_t end = info.st_size;
  for (char last = 0; end > 0; --end) {
    if (::pread(descriptor, &last, 1, end - 1) != 1) {
      return fail(status_from_errno(errno, "read " + path));
    }
    if (last == '\n') break;
  }
  return end;
}

Status note_line(Acks& acks, const Json& line) {
  TRY(const FragmentName name, parse_fragment_name(line.at("name").get<std::string>()));
  const auto op = line.at("op").get<std::string>();
  if (op == "put") {
    Ack ack;
    ack.bytes = line.at("bytes").get<std::uint64_t>();
    const auto hash = line.at("hash").get<std::string>();
    std::from_chars(hash.data(), hash.data() + hash.size(), ack.hash, 16);
    acks[name] = ack;
  } else if (op == "deleting") {
    acks.at(name).state = AckState::kDeleting;
  } else if (op == "deleted") {
    acks.at(name).state = AckState::kDeleted;
  } else {
    return {Code::kCorrupt, "unknown op '" + op + "'"};
  }
  return {};
}

}  // namespace

Result<AckJournal> AckJournal::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return fail(status_from_errno(errno, "open the journal " + path));
  AckJournal journal(descriptor, path);
  TRY(const off_t end, whole_lines(descriptor, path));
  if (::ftruncate(descriptor, end) != 0) {
    return fail(status_from_errno(errno, "cut the last line of " + path));
  }
  return journal;
}

AckJournal::AckJournal(AckJournal&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

AckJournal::~AckJournal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status AckJournal::put(const FragmentName& name, std::uint64_t bytes, std::uint64_t hash,
                       const std::vector<Source>& sources) {
  Json line;
  line["op"] = "put";
  line["name"] = to_string(name);
  line["bytes"] = bytes;
  line["hash"] = to_hex(hash);
  if (!sources.empty()) {
    Json& list = line["sources"] = Json::array();
    for (const Source& source : sources) {
      Json& entry = list.emplace_back(Json::object());
      entry["path"] = source.path;
      entry["offset"] = source.offset;
      entry["bytes"] = source.bytes;
    }
  }
  return append(to_line(line));
}

Status AckJournal::deleting(const FragmentName& name) { return append("deleting", name); }
Status AckJournal::deleted(const FragmentName& name) { return append("deleted", name); }

Status AckJournal::append(const char* op, const FragmentName& name) {
  Json line;
  line["op"] = op;
  line["name"] = to_string(name);
  return append(to_line(line));
}

Status AckJournal::append(std::string line) {
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return status_from_errno(errno, "append to " + path_);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<Acks> read_acks(const std::string& path) {
  std::ifstream in(path);
  if (!in) return fail(status_from_errno(errno, "open the journal " + path));
  Acks acks;
  std::string line;
  for (std::uint64_t number = 1; std::getline(in, line); ++number) {
    if (in.eof()) break;  // cut by a kill
    try {
      TRY_VOID(
          note_line(acks, Json::parse(line)).with_context(path + ':' + std::to_string(number)));
    } catch (const std::exception& wrong) {
      return fail(Code::kCorrupt,
                  path + ':' + std::to_string(number) + " is no journal line: " + wrong.what());
    }
  }
  return acks;
}

}  // namespace cairn::bench
