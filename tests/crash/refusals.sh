#!/usr/bin/env bash
# What must be refused, with words that help: a folder with other files, a target twice, a process twice,
# few descriptors.  Nothing is ever called absent because of a limit.    refusals.sh BUILD
# shellcheck source=tests/crash/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# expect STATUS WORDS COMMAND...: exit status and words of its error.
expect() {
  local status=$1 words=$2 got=0
  shift 2
  "$@" >"$work/out" 2>&1 || got=$?
  [ "$got" -eq "$status" ] || fail "$*: exit status $got, not $status: $(cat "$work/out")"
  grep -qi -- "$words" "$work/out" || fail "$*: no '$words' in: $(cat "$work/out")"
}

mkdir "$work/mine"
echo thesis >"$work/mine/thesis.tex"
expect 1 'thesis.tex' "$bin/cairn" target init "$work/mine"
[ "$(ls "$work/mine")" = thesis.tex ] || fail 'a refused init left something behind'
"$bin/cairn" target init "$work/target" --capacity 4GiB >/dev/null
expect 1 'target already' "$bin/cairn" target init "$work/target"
expect 1 'not a target' "$bin/cairn" target inspect "$work/mine"
expect 1 "no folder $work/absent" "$bin/cairn" target init "$work/absent/target"
: >"$work/file"
expect 1 'is a file' "$bin/cairn" target init "$work/file"
expect 1 'not a directory' "$bin/cairn" target init "$work/file/target"

make_tree "$work/tree"
: >"$work/acks"
start_writer "$work/target" "$work/acks"
wait_for_acks "$work/acks" 3 0
expect 1 'another process' "$bin/cairn" target scrub "$work/target"
"$bin/cairn" target inspect "$work/target" >/dev/null || fail 'inspect beside a running process'
kill -9 "$writer"
wait "$writer" 2>/dev/null || true

# With very few descriptors it may refuse; it may not lose or deny.
got=0
(ulimit -n 24 && timeout 60 "$bin/cairn-bench" target "$work/target" --verify "$work/acks") >"$work/out" 2>&1 || got=$?
if [ "$got" -ne 0 ]; then
  grep -qiE 'descriptor|open files' "$work/out" || fail "24 descriptors: $(cat "$work/out")"
fi
verify "$work/target" "$work/acks" 'few descriptors'

# A lost index is named, rebuilt, and everything acknowledged is there again.
rm -rf -- "$work/target/index"
expect 1 'rebuild-index' "$bin/cairn" target scrub "$work/target"
"$bin/cairn" target rebuild-index "$work/target" >/dev/null
verify "$work/target" "$work/acks" 'rebuild-index'

# Both superblocks damaged is damage, not absence.
for copy in superblock superblock.copy; do
  printf 'x' | dd of="$work/target/$copy" bs=1 seek=99 conv=notrunc status=none
done
expect 1 'corrupt' "$bin/cairn" target inspect "$work/target"
echo 'all refused as they must'
