#!/usr/bin/env python3
"""Calls that only the platform folders may make: everything else takes time, threads, random
numbers and files from engine/env, or the simulator could not run it.

  check_calls.py              checks the tree
  check_calls.py --self-test  checks that wrong code is found
"""

import re
import sys

from cpp_text import ROOT, report, sources, without_comments_and_literals

FOLDERS = ("engine", "client", "server")
FREE = ("engine/io/", "engine/net/", "engine/platform/")

# A pattern and what to use instead.
BANNED = [
    (r"\bio_context\b", "the injected Executor"),
    (r"\b(?:steady|system|high_resolution|deadline)_timer\b", "env::Clock (sleep_until)"),
    (r"\b(?:steady|system|high_resolution)_clock\s*::\s*now\b", "env::Clock"),
    (r"\b(?:clock_gettime|gettimeofday)\s*\(", "env::Clock"),
    (r"(?<![\w.>])time\s*\(\s*(?:nullptr|NULL|0|&\w+)\s*\)", "env::Clock"),
    (r"\bstd\s*::\s*(?:j?thread|async|this_thread)\b|\bpthread_create\b", "spawn on the Executor"),
    (r"\b(?:sleep_for|usleep|nanosleep)\b", "sleep_until"),
    (r"\brandom_device\b|\bgetrandom\s*\(|(?<![\w.>])s?rand\s*\(", "env::Random"),
    # std::shuffle and the distributions differ between libraries; the same seed must give the same.
    (r"\bstd\s*::\s*(?:shuffle|sample|mt19937\w*|\w+_distribution)\b", "engine/base/random.h"),
    # A call of open: not a member, not Class::open, and no declaration (a type stands before those).
    (r"(?<![\w>\s])\s*::\s*(?:open|openat|creat)\s*\(", "env::Files or env::BlockDevice"),
    (r"(?:[=(;{},!?]|&&|\|\||\breturn|\bco_return|\bco_await)\s*(?:::\s*)?(?:open|openat|creat)\s*\(",
     "env::Files or env::BlockDevice"),
    (r"\bfopen\s*\(|\bstd\s*::\s*[io]?fstream\b", "env::Files"),
]
_BANNED = [(re.compile(pattern), instead) for pattern, instead in BANNED]


def check_text(path: str, text: str) -> list:
    # The start of a file counts as the end of a statement.
    code = ";" + without_comments_and_literals(text)
    errors, lines = [], set()
    for pattern, instead in _BANNED:
        for match in pattern.finditer(code):
            line = code[: match.end()].count("\n") + 1
            if line not in lines:
                lines.add(line)
                found = " ".join(match.group(0).split()).lstrip(";{}(,=!? ")
                errors.append(f"{path}:{line}: '{found}' here; use {instead}")
    return errors


def check_tree() -> int:
    files = [path for path in sources(*FOLDERS) if not str(path).startswith(FREE)]
    errors = []
    for path in files:
        errors += check_text(str(path), (ROOT / path).read_text())
    return report("calls", len(files), errors)


def self_test() -> int:
    wrong = [
        "boost::asio::io_context context;",
        "asio::steady_timer timer(executor);",
        "auto t = std::chrono::steady_clock::now();",
        "auto t = std::chrono::system_clock\n    ::now();",
        "auto t = time(nullptr);",
        "std::thread worker(run);",
        "std::jthread worker(run);",
        "std::this_thread::yield();",
        "std::random_device seed;",
        "std::shuffle(a.begin(), a.end(), generator);",
        "std::uniform_int_distribution<int> d(0, 5);",
        "int fd = open(path, O_RDONLY);",
        "int fd = ::open(path, O_RDONLY);",
        "if (::open (path, 0) < 0) return;",
        "open(path, 0);",
        "return openat(dir, name, 0);",
        'const char* c = "a /* b"; usleep(5);',
        "char quote = '\"'; usleep(5);  // \"",
        "const int n = 1'000; usleep(5); const int m = 2'000;",
        'auto s = R"(a " b)"; std::ifstream in;',
    ]
    right = [
        "// std::thread would be wrong here\n",
        "/* io_context\n steady_timer */ int x;",
        'fail(Code::kIo, "open(2) failed; io_context");',
        "std::chrono::time_point<std::chrono::steady_clock, Duration> t;",
        "static Result<std::unique_ptr<Store>> open(Env env);",
        "Task<Result<Store>>\n    open(Env env);",
        "CO_TRY(auto i, FragmentIndex::open(stores));",
        "auto f = files.open(name);",
        "auto f = files->open(name);",
        "reopen(name); is_open(name); uptime(0);",
    ]
    errors = [f"not found: {text!r}" for text in wrong if not check_text("a.cc", text)]
    errors += [f"wrongly refused: {text!r}" for text in right if check_text("a.cc", text)]
    return report("calls, self-test", len(wrong) + len(right), errors)


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1:] == ["--self-test"] else check_tree())
