#!/usr/bin/env bash
# SIGKILLs at random points of a writing target, over one folder: every acknowledged byte is there
# afterwards and nothing torn is served.    kills.sh BUILD [KILLS, default 50]
# shellcheck source=tests/crash/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

kills=${2:-${CAIRN_KILLS:-50}}
make_tree "$work/tree"
"$bin/cairn" target init "$work/target" --capacity 16GiB --segment 80MiB >/dev/null
: >"$work/acks"
for round in $(seq "$kills"); do
  before=$(wc -l <"$work/acks")
  start_writer "$work/target" "$work/acks"
  wait_for_acks "$work/acks" 1 "$before"
  sleep "0.0$((RANDOM % 100 / 10))$((RANDOM % 10))"
  kill -9 "$writer"
  wait "$writer" 2>/dev/null || true
  # Every start recovers; the bytes are compared in every tenth round and at the end.
  if [ $((round % 10)) -eq 0 ] || [ "$round" -eq "$kills" ]; then
    verify "$work/target" "$work/acks" "kill $round"
  fi
done
cat "$work/verify.log"
echo "$kills kills"
