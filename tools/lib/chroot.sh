# A bare Debian of another release in a folder, to build and test in.  Sourced by tools/soak.
# shellcheck shell=bash

# debian_mirror: where this machine takes Debian itself from (not the security archive).
debian_mirror() {
  local targets
  # shellcheck disable=SC2016  # apt's variables
  local -a ask=(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages')
  targets=$("${ask[@]}" 2>/dev/null || true)
  if [ -z "$targets" ]; then
    apt-get update >/dev/null 2>&1 || true
    targets=$("${ask[@]}" 2>/dev/null || true)
  fi
  awk '$1 == "Debian" && $2 == "Debian" {print $3; exit}' <<<"$targets"
}

# make_chroot SUITE FOLDER: debootstraps once; later calls find it done.
make_chroot() {
  local suite=$1 root=$2 mirror
  [ ! -e "$root/.cairn-ready" ] || return 0
  have debootstrap || { warn 'no debootstrap: run tools/setup soak'; return 1; }
  mirror=$(debian_mirror)
  [ -n "$mirror" ] || { warn "this machine's apt configuration names no Debian archive"; return 1; }
  say "debootstrap $suite into ${root#"$CAIRN_ROOT"/}"
  rm -rf --one-file-system -- "$root"
  mkdir -p "$root"
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" >"$root.log" 2>&1 ||
    { tail -n 20 "$root.log" >&2; return 1; }
  echo "deb $mirror $suite main" >"$root/etc/apt/sources.list"
  # The mirror needs the same proxy and the same leniency about dates as here.
  apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries)' >"$root/etc/apt/apt.conf.d/90machine" || true
  touch "$root/.cairn-ready"
}

# in_chroot FOLDER BUILD_FOLDER COMMAND...: runs COMMAND with the tree at /src, read-only but for
# /src/build, which is BUILD_FOLDER.  Everything is mounted in a mount namespace of its own, so
# nothing stays behind, however this ends.
in_chroot() {
  local root=$1 build=$2
  shift 2
  mkdir -p "$root/src" "$build" "$CAIRN_BUILD"
  if [ -e /etc/resolv.conf ]; then cp -L /etc/resolv.conf "$root/etc/resolv.conf"; fi
  if [ -e /etc/hosts ]; then cp -L /etc/hosts "$root/etc/hosts"; fi
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare --mount --propagation private -- bash -euc '
    root=$1 tree=$2 build=$3
    shift 3
    mount --bind "$root" "$root"  # else a mount namespace inside is refused
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount --bind "$tree" "$root/src"
    mount --bind "$build" "$root/src/build"
    mount -o remount,bind,ro "$root/src"
    exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
      LANG=C.UTF-8 CCACHE_DIR=/src/build/ccache chroot "$root" "$@"
  ' in_chroot "$root" "$CAIRN_ROOT" "$build" "$@"
}
