# Planted bugs: tests/mutants/*.patch, each of which the tests it names must catch.  Sourced by
# tools/soak.  Format of a patch: tests/mutants/README.md.
# shellcheck shell=bash

MUTANTS_TREE=$CAIRN_BUILD/mutants/tree

# sync_tree: makes the copy equal to the tree; files that are equal keep their times, so that only
# what a mutant touched is compiled again.
sync_tree() {
  local file
  mkdir -p "$MUTANTS_TREE"
  git -C "$CAIRN_ROOT" ls-files >"$MUTANTS_TREE.files"
  while IFS= read -r file; do
    [ -f "$CAIRN_ROOT/$file" ] || continue
    cmp -s -- "$CAIRN_ROOT/$file" "$MUTANTS_TREE/$file" && continue
    mkdir -p -- "$MUTANTS_TREE/$(dirname -- "$file")"
    cp -P --preserve=mode -- "$CAIRN_ROOT/$file" "$MUTANTS_TREE/$file"
  done <"$MUTANTS_TREE.files"
  # What the tree no longer has (a mutant's new files, or deleted ones) goes.
  (cd "$MUTANTS_TREE" && find . -path ./build -prune -o -type f -print | sed 's#^\./##') | LC_ALL=C sort |
    LC_ALL=C comm -13 <(cd "$CAIRN_ROOT" && xargs -d '\n' ls -d 2>/dev/null <"$MUTANTS_TREE.files" | LC_ALL=C sort) - |
    while IFS= read -r file; do rm -f -- "$MUTANTS_TREE/$file"; done
}

# mutant_field FILE NAME: the value of a header line "NAME: value".
mutant_field() { sed -n "/^--- /q; s/^$2: *//p" "$1" | head -n 1; }

# mutant_tests LABELS FILTER LOG: tools/test of the copy; its exit status.
mutant_tests() {
  local log=$3 label
  local -a arguments=(--no-setup --preset release --jobs "$CAIRN_JOBS")
  for label in $1; do arguments+=(--label "$label"); done
  [ -z "$2" ] || arguments+=(--filter "$2")
  "$MUTANTS_TREE/tools/test" "${arguments[@]}" >"$log" 2>&1
}

# check_mutant FILE: prints one line; 0 when the bug was caught.
check_mutant() {
  local patch=$1 name breaks labels filter log status=0
  name=$(basename -- "$patch" .patch)
  breaks=$(mutant_field "$patch" Breaks)
  labels=$(mutant_field "$patch" Label)
  filter=$(mutant_field "$patch" Tests)
  log=$CAIRN_BUILD/log/mutant-$name.log
  if [ -z "$breaks" ] || [ -z "$labels" ]; then
    say "  $name: BAD: needs the header lines 'Breaks:' and 'Label:'"
    return 1
  fi
  sync_tree
  # No fuzz: a patch that no longer fits exactly may break something else than it says.
  if ! patch --directory "$MUTANTS_TREE" -p1 --fuzz=0 --batch --forward <"$patch" >"$log" 2>&1; then
    say "  $name: BAD: does not apply (${log#"$CAIRN_ROOT"/})"
    return 1
  fi
  mutant_tests "$labels" "$filter" "$log" || status=$?
  case $status in
    1) say "  $name: caught by $labels: $breaks" ;;
    0) say "  $name: SURVIVED $labels: $breaks" ;;
    3) say "  $name: BAD: does not build (${log#"$CAIRN_ROOT"/})" ;;
    *) say "  $name: BAD: no test ran (${log#"$CAIRN_ROOT"/})" ;;
  esac
  [ "$status" = 1 ]
}

# run_mutants: sets `note`; 0 when every planted bug was caught.
# shellcheck disable=SC2034  # `note` is the caller's
run_mutants() {
  local -a patches
  local patch labels caught=0 log=$CAIRN_BUILD/log/mutant-baseline.log
  mapfile -t patches < <(find "$CAIRN_ROOT/tests/mutants" -name '*.patch' 2>/dev/null | LC_ALL=C sort)
  if [ ${#patches[@]} -eq 0 ]; then
    note='no tests/mutants/*.patch'
    return 1
  fi
  # Tests that fail without any planted bug would "catch" all of them.
  labels=$(for patch in "${patches[@]}"; do mutant_field "$patch" Label; done | tr ' ' '\n' | sort -u | tr '\n' ' ')
  sync_tree
  say "tests without a planted bug: $labels"
  if ! mutant_tests "$labels" '' "$log"; then
    tail -n 40 "$log"
    note='the tests fail without a planted bug'
    return 1
  fi
  for patch in "${patches[@]}"; do
    if check_mutant "$patch"; then caught=$((caught + 1)); fi
  done
  sync_tree
  note="$caught of ${#patches[@]} planted bugs caught"
  [ "$caught" = ${#patches[@]} ]
}
