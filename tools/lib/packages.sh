# Which Debian packages each group needs, by system.  Sourced by tools/setup.
# A package is listed when something in the tree uses it, not earlier.
# shellcheck shell=bash

# detect_system: sets CAIRN_SYSTEM and CAIRN_SYSTEM_NAME, or fails with what it found.
detect_system() {
  local id='' version=''
  if [ -r /etc/os-release ]; then
    id=$(. /etc/os-release && printf '%s' "${ID:-}")
    version=$(. /etc/os-release && printf '%s' "${VERSION_ID:-}")
    CAIRN_SYSTEM_NAME=$(. /etc/os-release && printf '%s' "${PRETTY_NAME:-$ID}")
  fi
  case $id-$version in
    debian-12) CAIRN_SYSTEM=debian12 ;;
    debian-13) CAIRN_SYSTEM=debian13 ;;
    ubuntu-24.04) CAIRN_SYSTEM=ubuntu2404 ;;
    *)
      CAIRN_SYSTEM_NAME=${CAIRN_SYSTEM_NAME:-an unknown system}
      return 1
      ;;
  esac
}

# packages_of GROUP: one name a line.
packages_of() {
  case $1 in
    build)
      # cmake and ninja are asked for apart: they may come from elsewhere.
      printf '%s\n' g++ pkg-config ccache \
        liburing-dev librocksdb-dev libisal-dev libxxhash-dev libzstd-dev \
        libprotobuf-dev protobuf-compiler libssl-dev \
        libexpected-dev libspdlog-dev libcli11-dev nlohmann-json3-dev libbenchmark-dev
      # The default Boost of Debian 12 is 1.74, too old; the later systems' is new enough.
      if [ "$CAIRN_SYSTEM" = debian12 ]; then echo libboost1.81-dev; else echo libboost-dev; fi
      # libfuse >= 3.17 comes here with the mount: libfuse3-dev on Debian 13; on Debian 12 a later
      # issue builds Debian's own newer source package into a private prefix (build/prefix).
      ;;
    test)
      # python3 runs the tree checks and adds up results; the others make and cut file systems.
      printf '%s\n' libgtest-dev libgmock-dev python3 e2fsprogs mount procps
      ;;
    demo) echo fio ;;
    soak)
      printf '%s\n' clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev \
        fio xfsprogs nbdkit libnbd-bin fuse3 gdb debootstrap patch git
      ;;
    python) printf '%s\n' python3-dev python3-venv ;;
    *) return 1 ;;
  esac
}
