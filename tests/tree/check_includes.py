#!/usr/bin/env python3
"""Direction of includes: every #include of the product against the table of layers, the layers
against DEPS of their CMake targets, and foreign headers against who may know them.

  check_includes.py              checks the tree
  check_includes.py --self-test  checks that wrong code is found
"""

import pathlib
import re
import sys

from cpp_text import ROOT, report, sources, without_comments

# The table: a layer and the layers it may include.  Rows of one rank don't know each other:
# {base, env} < {layout, codec, wire} < {io, meta, net, platform} < store < client/core
# < {client, server} < {fuse, bench, tools}.  Inside a rank only env <- base and codec <- layout
# are used.  What a layer "must not know" (ARCHITECTURE.md) is left out of its row.
ALLOWED = {
    "engine/base": "",
    "engine/env": "engine/base",
    "engine/layout": "engine/base",
    "engine/codec": "engine/base engine/layout",
    "engine/wire": "engine/base engine/env",
    "engine/io": "engine/base engine/env engine/layout engine/codec",
    "engine/meta": "engine/base engine/env engine/layout engine/codec engine/wire",
    "engine/net": "engine/base engine/env engine/wire",
    "engine/platform": "engine/base engine/env",
    "engine/platform/kv": "engine/base engine/env",
    "engine/store": "engine/base engine/env engine/layout engine/codec engine/wire engine/io",
    "client/core": "engine/base engine/env engine/layout engine/codec engine/wire engine/io "
    "engine/net engine/platform",
    "client": "engine/base engine/env engine/layout engine/codec engine/wire engine/io "
    "engine/net engine/platform client/core",
    "server": "engine/base engine/env engine/layout engine/codec engine/wire engine/io engine/meta "
    "engine/net engine/platform engine/platform/kv engine/store client/core",
    "fuse": "engine/base engine/env client",
    "bench": "engine/base engine/env engine/layout engine/codec engine/wire engine/io engine/meta "
    "engine/net engine/platform engine/platform/kv engine/store client/core client server",
    "tools": "engine/base engine/env engine/layout engine/codec engine/wire engine/io engine/meta "
    "engine/net engine/platform engine/platform/kv engine/store client/core client server",
}

# A foreign header (a pattern) and the only folders of the product that may include it.
FOREIGN = [
    (r"rocksdb/.*", ["engine/platform/kv"]),
    (r"liburing\.h|liburing/.*", ["engine/io"]),
    (r"isa-l.*|isal/.*|erasure_code\.h|zstd\.h", ["engine/codec"]),
    (r"xxhash\.h|spdlog/.*", ["engine/base"]),
    (r"openssl/.*", ["engine/wire"]),
    (r"fuse.*", ["fuse"]),
    (r"sys/socket\.h|netinet/.*|boost/asio/ip/.*", ["engine/net"]),
    # Layers that are pure know no coroutines.
    (r"boost/asio/.*|boost/asio\.hpp|coroutine",
     ["engine/env", "engine/io", "engine/net", "engine/platform", "engine/store", "engine/meta",
      "client", "server", "fuse", "bench", "tools"]),
]

# Seconds of compile time each, for everyone who includes the header.  A header that only one folder
# includes may name what that folder is about.
NEVER_IN_HEADERS = {"boost/asio.hpp": [], "rocksdb/db.h": ["engine/platform/kv"]}

PRODUCT = ("engine", "client", "server", "fuse", "bench", "tools")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
_LIBRARY = re.compile(r"cairn_(?:library|executable)\s*\(\s*([\w-]+)([^)]*)\)")


def layer_of(path: str):
    """The longest row of the table that holds `path`, or None."""
    rows = [row for row in ALLOWED if path.startswith(row + "/")]
    return max(rows, key=len) if rows else None


def in_folder(path: str, folders: list) -> bool:
    return any(path.startswith(folder + "/") for folder in folders)


def check_file(path: str, text: str, reachable: dict) -> list:
    """`reachable`: layer -> layers that its CMake targets link; {} leaves that check out."""
    errors = []
    layer = layer_of(path)
    for match in _INCLUDE.finditer(without_comments(text)):
        own, foreign = match.groups()
        line = text[: match.start()].count("\n") + 1
        where = f"{path}:{line}"
        if own is not None:
            other = layer_of(own)
            if other is None:
                errors.append(f'{where}: "{own}" is no path from the root of a known layer')
            elif other != layer and other not in ALLOWED[layer].split():
                errors.append(f"{where}: {layer} must not include {other} ({own})")
            elif other != layer and reachable and other not in reachable.get(layer, set()):
                errors.append(f"{where}: includes {own}, but no target of {layer} has its library "
                              "in DEPS")
            continue
        for pattern, folders in FOREIGN:
            if re.fullmatch(pattern, foreign) and not in_folder(path, folders):
                errors.append(f"{where}: <{foreign}> may be included only in {', '.join(folders)}")
        if (path.endswith(".h") and foreign in NEVER_IN_HEADERS
                and not in_folder(path, NEVER_IN_HEADERS[foreign])):
            errors.append(f"{where}: <{foreign}> never stands in a header")
    return errors


def targets_of(cmake: dict) -> dict:
    """{path of a CMakeLists.txt: text} -> {target: (layer, [DEPS])}."""
    targets = {}
    for path, text in cmake.items():
        text = re.sub(r"#[^\n]*", "", text)
        for name, arguments in _LIBRARY.findall(text):
            deps, taking = [], False
            for word in arguments.split():
                if word.isupper() and "_" in word or word in ("SOURCES", "DEPS", "LABEL"):
                    taking = word in ("DEPS", "PRIVATE_DEPS")
                elif taking:
                    deps.append(word)
            targets[name] = (layer_of(path), deps)
    return targets


def check_targets(targets: dict):
    """Errors of the DEPS themselves, and the layers each layer reaches through them."""
    errors, reachable = [], {}
    for name, (layer, deps) in targets.items():
        seen, todo = set(), list(deps)
        while todo:
            dep = todo.pop()
            if dep in targets and dep not in seen:
                seen.add(dep)
                todo.extend(targets[dep][1])
        for dep in sorted(seen):
            other = targets[dep][0]
            if other != layer and other not in ALLOWED[layer].split():
                errors.append(f"target {name} ({layer}) must not link {dep} ({other})")
        reachable.setdefault(layer, set()).update(targets[dep][0] for dep in seen)
    return errors, reachable


def read_targets() -> dict:
    lists = {}
    for folder in PRODUCT:
        for path in (ROOT / folder).rglob("CMakeLists.txt"):
            relative = str(path.relative_to(ROOT))
            # One foreach() declares the microbenchmarks; they name the library of their layer.
            if layer_of(relative) and not relative.startswith("bench/micro/"):
                lists[relative] = path.read_text()
    return targets_of(lists)


def check_tree() -> int:
    errors, reachable = check_targets(read_targets())
    files = sources(*PRODUCT)
    for path in files:
        text = pathlib.Path(ROOT / path).read_text()
        known = {} if str(path).startswith("bench/micro/") else reachable
        errors += check_file(str(path), text, known)
    return report("includes", len(files), errors)


def self_test() -> int:
    linked = {"engine/layout": {"engine/base"}, "engine/store": {"engine/base", "engine/io"}}
    wrong = [
        ("engine/base/a.h", '#include "engine/env/task.h"'),
        ("engine/layout/a.h", '#include "engine/env/clock.h"'),
        ("engine/io/a.cc", '  #  include "engine/platform/platform.h"'),
        ("engine/platform/a.cc", '#include "engine/platform/kv/options.h"'),
        ("engine/store/a.cc", '#include "engine/net/tcp.h"'),
        ("engine/store/a.cc", '#include "engine/codec/erasure.h"'),  # allowed, but not in DEPS
        ("client/a.cc", '#include "engine/platform/kv/options.h"'),
        ("server/a.cc", '#include "fuse/mount.h"'),
        ("bench/a.cc", '#include "tools/cairn/command.h"'),
        ("engine/store/a.cc", '#include "segment_set.h"'),
        ("engine/store/a.cc", "#include <rocksdb/options.h>"),
        ("engine/env/a.h", "#include <boost/asio.hpp>"),
        ("engine/platform/a.cc", "#include <liburing.h>"),
        ("engine/codec/a.h", "#include <boost/asio/awaitable.hpp>"),
        ("engine/store/a.cc", "#include <sys/socket.h>"),
    ]
    right = [
        ("engine/layout/a.h", '// #include "engine/env/clock.h"\n#include "engine/base/limits.h"'),
        ("engine/layout/a.h", '/*\n#include <rocksdb/db.h>\n*/\n#include <vector>'),
        ("engine/store/a.cc", '#include "engine/io/ring.h"'),
        ("engine/platform/kv/a.cc", "#include <rocksdb/db.h>"),
        ("engine/platform/kv/a.h", "#include <rocksdb/db.h>"),
    ]
    errors = [f"not found: {path}: {text}" for path, text in wrong
              if len(check_file(path, text, linked)) != 1]
    errors += [f"wrongly refused: {path}: {text}" for path, text in right
               if check_file(path, text, linked)]
    bad = targets_of({"engine/io/CMakeLists.txt": "cairn_library(x\n SOURCES a.cc # DEPS no\n DEPS y)",
                      "engine/store/CMakeLists.txt": "cairn_library(y SOURCES b.cc PRIVATE_DEPS z)"})
    if len(check_targets(bad)[0]) != 1:
        errors.append("not found: a target of engine/io that links one of engine/store")
    tree = read_targets()
    for name in ("cairn_base", "cairn_io", "cairn_kv", "cairn_store", "cairn_host"):
        if name not in tree:
            errors.append(f"the target {name} was not read from its CMakeLists.txt")
    return report("includes, self-test", len(wrong) + len(right), errors)


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1:] == ["--self-test"] else check_tree())
