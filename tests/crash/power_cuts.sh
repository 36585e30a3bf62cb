#!/usr/bin/env bash
# Power cuts: a target on a loop-mounted file system that is shut down under its writer (nothing that
# was not flushed survives), mounted again and checked.  The acknowledgements lie outside.
#   power_cuts.sh BUILD [CUTS, default 20] [ext4|xfs]        Root: mounts a loop device.
# shellcheck source=tests/crash/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

cuts=${2:-${CAIRN_POWER_CUTS:-20}}
fs=${3:-${CAIRN_POWER_CUT_FS:-ext4}}
[ "$(id -u)" -eq 0 ] || skip 'mounting a loop device needs root'
have_loop() { losetup -f >/dev/null 2>&1; }
have_loop || skip 'no loop devices here'

make_tree "$work/tree"
truncate -s 3G "$work/image"
case $fs in
  ext4) mkfs.ext4 -q -E lazy_itable_init=1 "$work/image" ;;
  xfs) mkfs.xfs -q "$work/image" ;;
  *) fail "no file system '$fs'" ;;
esac
loop=$(losetup --find --show "$work/image")
mkdir "$work/mnt"
mount "$loop" "$work/mnt"
mounted=$work/mnt
"$bin/cairn" target init "$mounted/target" --segment 80MiB >/dev/null
: >"$work/acks"
for round in $(seq "$cuts"); do
  before=$(wc -l <"$work/acks")
  start_writer "$mounted/target" "$work/acks"
  wait_for_acks "$work/acks" 2 "$before"
  sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
  # FS_IOC_SHUTDOWN without flushing the journal.
  python3 -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack("I", 2))' "$mounted"
  kill -9 "$writer" 2>/dev/null || true
  wait "$writer" 2>/dev/null || true
  for _ in $(seq 50); do
    umount "$mounted" 2>/dev/null && break
    sleep 0.1
  done
  mount "$loop" "$mounted" || fail "the file system does not come back after cut $round"
  verify "$mounted/target" "$work/acks" "power cut $round"
  # Start over before the image is full.
  if [ "$(df --output=pcent "$mounted" | tr -dc 0-9)" -gt 60 ]; then
    rm -rf -- "$mounted/target"
    "$bin/cairn" target init "$mounted/target" --segment 80MiB >/dev/null
    : >"$work/acks"
  fi
done
cat "$work/verify.log"
echo "$cuts power cuts on $fs"
