# What the crash tests share.  Sourced with the build folder as first argument of the test.
# shellcheck shell=bash
set -euo pipefail

build=$1
bin=$build/bin
# The tree's own file system: the temporary folder may be in memory, without O_DIRECT.
work=$(mktemp -d "$build/crash.XXXXXX")
pids=()

clean_up() {
  local pid
  for pid in ${pids[@]+"${pids[@]}"}; do kill -9 "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf -- "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

fail() {
  printf 'FAILED: %s\n' "$*"
  exit 1
}

# A tree of a few MiB with files of many sizes, the same on every run.
make_tree() {
  mkdir "$1"
  local i
  for i in $(seq 60); do head -c $((i * i * 700)) /dev/zero | tr '\0' "$(printf '\\%03o' $((65 + i % 26)))" >"$1/$i"; done
}

# start_writer TARGET ACKS: writes in the background until killed; its pid is in `writer`.
start_writer() {
  "$bin/cairn-bench" target "$1" --from "$work/tree" --acks "$2" --object 1MiB --repeat \
    >/dev/null 2>>"$work/writer.log" &
  writer=$!
  pids=("$writer")
}

# Waits until the acknowledgements have grown by at least $2 lines beyond $3.
wait_for_acks() {
  local i
  for i in $(seq 300); do
    [ "$(wc -l <"$1" 2>/dev/null || echo 0)" -lt $(($3 + $2)) ] || return 0
    kill -0 "$writer" 2>/dev/null || fail "the writer ended by itself: $(tail -n 3 "$work/writer.log")"
    sleep 0.02
  done
  fail "no acknowledgement within 6 s"
}

verify() {
  timeout 120 "$bin/cairn-bench" target "$1" --verify "$2" >"$work/verify.log" 2>&1 ||
    fail "after $3: $(cat "$work/verify.log")"
}
