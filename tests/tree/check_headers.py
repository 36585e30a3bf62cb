#!/usr/bin/env python3
"""Every header of the tree compiles alone, and twice in one file.

The build has shown it for a header that its own source file includes before anything else, as our
style wants; those are only looked at.  The others are compiled here.

  check_headers.py --compiler CXX --work DIR [--jobs N]
  check_headers.py --compiler CXX --work DIR --self-test   checks that a wrong header is found

Objects are made (not only parsed) so that ccache, where it is installed, remembers them.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

from cpp_text import ROOT, report, sources

FOLDERS = ("engine", "client", "server", "fuse", "bench", "tools", "tests")
FLAGS = ["-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror=return-type",
         "-Wno-mismatched-new-delete",  # false alarm on the frames of coroutines (GCC 12)
         "-DBOOST_ASIO_NO_DEPRECATED"]
SECONDS_MAX = 120  # of one header, on a busy machine


def compile_alone(compiler: str, work: pathlib.Path, root: pathlib.Path, header: str) -> str:
    """Empty when it compiles, else what the compiler said."""
    source = work / (header.replace("/", "_") + ".cc")
    text = f'#include "{header}"\n#include "{header}"\n'
    if not source.exists() or source.read_text() != text:
        source.write_text(text)
    command = [compiler, *FLAGS, "-I", str(root), "-c", str(source), "-o", str(source) + ".o"]
    environment = dict(os.environ, CCACHE_BASEDIR=str(root), CCACHE_NOHASHDIR="1")
    ccache = shutil.which("ccache")
    try:
        done = subprocess.run(([ccache] if ccache else []) + command, env=environment, text=True,
                              capture_output=True, timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return f"{header}: not compiled after {SECONDS_MAX} s"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if "error" in line] or [done.stderr]
    return f"{header} does not compile alone:\n  " + "\n  ".join(lines[:5])


def shown_by_the_build(root: pathlib.Path, header: str) -> bool:
    """Whether the header's own source begins with it, and it guards itself."""
    source = (root / header).with_suffix(".cc")
    if not source.exists() or "#pragma once\n" not in (root / header).read_text():
        return False
    first = next((line for line in source.read_text().splitlines() if line.startswith("#")), "")
    return first == f'#include "{header}"'


def check(compiler: str, work: pathlib.Path, root: pathlib.Path, headers: list, jobs: int) -> list:
    work.mkdir(parents=True, exist_ok=True)
    headers = [header for header in headers if not shown_by_the_build(root, header)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        said = pool.map(lambda header: compile_alone(compiler, work, root, header), headers)
        return [error for error in said if error]


def self_test(compiler: str, work: pathlib.Path) -> int:
    root = work / "self_test"
    root.mkdir(parents=True, exist_ok=True)
    headers = {
        "right.h": "#pragma once\n#include <string>\ninline std::string f() { return {}; }\n",
        "lacks_include.h": "#pragma once\ninline std::string f() { return {}; }\n",
        "lacks_guard.h": "inline int f() { return 1; }\n",
        "shown.h": "#pragma once\nstd::string f();\n",  # compiled here it would fail
        "not_first.h": "#pragma once\nstd::string f();\n",
        "shown_unguarded.h": "struct S {};\n",
    }
    sources_of = {
        "shown.cc": '// About it.\n#include "shown.h"\n#include <string>\n',
        "not_first.cc": '#include <string>\n#include "not_first.h"\n',
        "shown_unguarded.cc": '#include "shown_unguarded.h"\n',
    }
    for name, text in {**headers, **sources_of}.items():
        (root / name).write_text(text)
    found = check(compiler, root / "objects", root, list(headers), 1)
    errors = []
    right = ("right.h", "shown.h")
    for name in headers:
        if any(error.startswith(name) for error in found) != (name not in right):
            errors.append(f"wrong verdict on {name}: {found}")
    return report("headers, self-test", len(headers), errors)


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--compiler", required=True)
    options.add_argument("--work", type=pathlib.Path, required=True)
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--self-test", action="store_true")
    given = options.parse_args()
    if given.self_test:
        return self_test(given.compiler, given.work)
    headers = [str(path) for path in sources(*FOLDERS, suffixes=(".h",))]
    errors = check(given.compiler, given.work, ROOT, headers, given.jobs)
    return report("headers", len(headers), errors)


if __name__ == "__main__":
    sys.exit(main())
