#!/usr/bin/env python3
"""Runs a program that must die, and of the right cause: a canary that lives, or dies of something
else, means that its guard is off.

  expect_death.py REGEX PROGRAM [ARGUMENT...]   REGEX must match what the program prints
  expect_death.py --self-test
"""

import re
import subprocess
import sys


def verdict(pattern: str, command: list) -> str:
    """Empty when `command` fails and prints `pattern`."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60,
                              check=False)
    except subprocess.TimeoutExpired:
        return "it was still alive after 60 s"
    said = done.stdout + done.stderr
    if done.returncode == 0:
        return f"it lived\n{said}"
    if not re.search(pattern, said):
        return f"it died (status {done.returncode}) of something other than '{pattern}'\n{said}"
    return ""


def self_test() -> int:
    python = [sys.executable, "-c"]
    cases = [
        (python + ["raise SystemExit('the cause')"], True),
        (python + ["print('the cause')"], False),
        (python + ["raise SystemExit('another')"], False),
        (python + ["print('the cause', flush=True); import os; os.abort()"], True),
    ]
    wrong = [command for command, dies in cases if (verdict("the cause", command) == "") != dies]
    for command in wrong:
        print(f"wrong verdict on {command}")
    print(f"canaries, self-test: {len(cases)} cases, {len(wrong)} errors")
    return 1 if wrong else 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    error = verdict(sys.argv[1], sys.argv[2:])
    if error:
        print(f"{' '.join(sys.argv[2:])}: {error}")
        return 1
    print(f"{' '.join(sys.argv[2:])}: died as it must")
    return 0


if __name__ == "__main__":
    sys.exit(main())
