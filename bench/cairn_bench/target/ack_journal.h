// What a writer was told: one line per acknowledgement, written outside the target before anybody
// is told, so that after a crash a verifier knows what must be there.  JSON lines:
//   {"op":"put","name":"...","bytes":N,"hash":"16 hex digits","sources":[...]}
//   {"op":"deleting","name":"..."}   asked for: from here on either state is right
//   {"op":"deleted","name":"..."}    acknowledged: it must never be seen again
// A kill may cut the last line; that one counts as never written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/status.h"

namespace cairn::bench {

/// Where an object's bytes came from.
struct Source {
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

class AckJournal {
 public:
  /// Appends to `path`, created when absent; a line cut by a kill is removed first.
  static Result<AckJournal> open(const std::string& path);
  AckJournal(AckJournal&& other) noexcept;
  AckJournal& operator=(AckJournal&&) = delete;
  ~AckJournal();

  /// In the kernel when these return: it survives a kill of this process.
  Status put(const FragmentName& name, std::uint64_t bytes, std::uint64_t hash,
             const std::vector<Source>& sources);
  Status deleting(const FragmentName& name);
  Status deleted(const FragmentName& name);

 private:
  explicit AckJournal(int descriptor, std::string path)
      : descriptor_(descriptor), path_(std::move(path)) {}
  Status append(std::string line);
  Status append(const char* op, const FragmentName& name);

  int descriptor_;
  std::string path_;
};

enum class AckState : std::uint8_t { kPut, kDeleting, kDeleted };
struct Ack {
  AckState state = AckState::kPut;
  std::uint64_t bytes = 0;  ///< of the object, without padding
  std::uint64_t hash = 0;   ///< hash64 of these bytes
};
using Acks = std::map<FragmentName, Ack>;

/// kCorrupt names the line; a last line without its end is left out.
Result<Acks> read_acks(const std::string& path);

}  // namespace cairn::bench
