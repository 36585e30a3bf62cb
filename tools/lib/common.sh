# What the scripts in tools/ share.  Sourced, never run.
# shellcheck shell=bash
set -euo pipefail

# Git and some shells set this; it would make `cd` print.
unset CDPATH
# mkfs and losetup lie here, and a root shell made by `su` may not look there.
PATH=$PATH:/usr/sbin:/sbin
CAIRN_ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
CAIRN_BUILD=$CAIRN_ROOT/build

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
# die MESSAGE [EXIT STATUS]
die() {
  warn "$1"
  exit "${2:-1}"
}
have() { command -v "$1" >/dev/null 2>&1; }

# The comment block at the top of a script is its manual.
print_help() { sed -n '2,/^\([^#]\|# shellcheck\)/{/^# shellcheck/!s/^#\( \|$\)//p}' "$1"; }

# need_value OPTION REST...: the option must be followed by a value.
need_value() { [ $# -ge 2 ] && [ -n "$2" ] || die "$1 needs a value (see --help)" 2; }
# need_number OPTION VALUE: a whole number of at least 1.
need_number() { [[ $2 =~ ^[1-9][0-9]*$ ]] || die "$1 takes a whole number of at least 1, not '$2'" 2; }

# One job a core, but no more than fit in memory: a coroutine file under sanitizers takes ~1.5 GiB.
job_count() {
  local cores memory_kib
  cores=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  local fit=$((memory_kib / (1536 * 1024)))
  [ "$fit" -ge 1 ] || fit=1
  [ "$cores" -le "$fit" ] && echo "$cores" || echo "$fit"
}

# version_at_least HAVE WANT: dotted numbers.
version_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# working_tool NAME MINIMUM: path of the first NAME in PATH that runs and is new enough.  A shim of a
# version manager may stand first in PATH and lead nowhere, so a name that exists proves nothing.
working_tool() {
  local path version
  while IFS= read -r path; do
    version=$("$path" --version 2>/dev/null) || continue
    if [[ $version =~ [0-9]+(\.[0-9]+)+ ]] && version_at_least "${BASH_REMATCH[0]}" "$2"; then
      printf '%s\n' "$path"
      return 0
    fi
  done < <(type -aP "$1")
  return 1
}

CMAKE_MINIMUM=3.25
NINJA_MINIMUM=1.10
# Sets CMAKE, CTEST and NINJA.  After tools/setup this can't fail.
# shellcheck disable=SC2034  # CTEST is tools/test's
find_cmake() {
  CMAKE=$(working_tool cmake "$CMAKE_MINIMUM") || die "no cmake >= $CMAKE_MINIMUM: run tools/setup"
  CTEST=$(working_tool ctest "$CMAKE_MINIMUM") || die "no ctest >= $CMAKE_MINIMUM: run tools/setup"
  NINJA=$(working_tool ninja "$NINJA_MINIMUM") || die "no ninja: run tools/setup"
}

# show_failure LOG: the part of a build log that a person needs.
show_failure() {
  local first
  first=$(grep -nE '^(FAILED:|CMake Error|ninja: error)|: (fatal )?error: ' "$1" | head -n 1 | cut -d: -f1)
  if [ -n "$first" ]; then
    sed -n "$first,$((first + 60))p" "$1" >&2
  else
    tail -n 40 "$1" >&2
  fi
  warn "the whole log: ${1#"$CAIRN_ROOT"/}"
}

# build_preset PRESET [TARGET...]: configures and builds quietly; returns 1 after showing what broke.
build_preset() {
  local preset=$1 started=$SECONDS log
  shift
  mkdir -p "$CAIRN_BUILD/log"
  log=$CAIRN_BUILD/log/$preset-build.log
  say "build/$preset: configuring and building with $CAIRN_JOBS jobs"
  if ! { (cd "$CAIRN_ROOT" && "$CMAKE" --preset "$preset" -DCMAKE_MAKE_PROGRAM="$NINJA") &&
    "$CMAKE" --build "$CAIRN_BUILD/$preset" --parallel "$CAIRN_JOBS" ${@+--target "$@"}; } >"$log" 2>&1; then
    warn "build/$preset: the build failed"
    show_failure "$log"
    return 1
  fi
  say "build/$preset: built in $((SECONDS - started)) s"
}

# source_files: the C++ files of the tree, one a line, relative to CAIRN_ROOT; also without git.
source_files() {
  if git -C "$CAIRN_ROOT" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git -C "$CAIRN_ROOT" ls-files -- '*.cc' '*.h'
  else
    (cd "$CAIRN_ROOT" && find bench client engine fuse server tests tools -name '*.cc' -o -name '*.h')
  fi | LC_ALL=C sort
}

CAIRN_JOBS=${CAIRN_JOBS:-$(job_count)}
