// The judge of a target whose files were damaged while it was stopped: opens it, looks at
// everything in every way, and tells what damage did that must not happen.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace cairn::crash {

/// One damage: a change to some file of a copy of the pristine target.
struct Damage {
  std::string what;
  std::string file;                       ///< relative to the target
  std::optional<std::uint64_t> must_hit;  ///< this object's read and scrub must fail
  std::function<void(const std::string& path)> apply;
};

/// Looks at the damaged target in `directory`.  `finding` is told of each wrong answer at once, so
/// that none is lost when a library's assertion ends the process later.  Not told at all: the
/// damage was noticed, or did no harm.
void judge_damaged_target(const std::string& directory, const Damage& damage,
                          const std::function<void(const std::string& text)>& finding);

}  // namespace cairn::crash
