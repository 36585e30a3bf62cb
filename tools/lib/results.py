"""Adds up what ctest and GoogleTest report, for tools/test.

    results.py collect  --listing F --junit F --gtest DIR --preset P --label L --seconds N --budget N --out F
    results.py step     --name N --outcome passed|failed|skipped|none [--reason R] [--seconds N --budget N] --out F
    results.py report   --in F
    results.py commands < LISTING

`collect` turns one ctest run into one record: every GoogleTest case counts, a program that is no
GoogleTest counts as one, and a program that died, hung or could not start counts as one failure
besides the cases it reported.  `step` records a check that is no test program.  `report` prints the
table, every skip with its reason, every failure, and the closing line; its exit status is 0 only
when something ran and nothing failed, 1 on a failure, 4 when nothing ran.  `commands` prints the distinct
commands of ctest's listing, quoted for a shell.

The record file has one JSON object a line.  Standard library only.
"""

import argparse
import glob
import json
import os
import re
import shlex
import sys
import xml.etree.ElementTree as ET

SKIP_REASON = re.compile(r"^\s*(?:skip(?:ped)?)\b[:\s]*(.*)$", re.IGNORECASE)


def first_line(text):
    """The first line that says something; GoogleTest puts file:line in front of the reason."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    if len(lines) > 1 and re.match(r"^(\S+:\d+|unknown file)$", lines[0]):
        lines = lines[1:]
    return lines[0] if lines else "no reason given"


def script_skip_reason(output):
    """What a script that is skipped by ctest said about it, else its last line."""
    last = "no reason given"
    for line in (output or "").splitlines():
        match = SKIP_REASON.match(line)
        if match and match.group(1):
            return match.group(1).strip()
        if line.strip():
            last = line.strip()
    return last


def read_gtest_cases(path):
    """[(name, outcome, text)] of one GoogleTest XML file, or None when the file is unreadable."""
    try:
        root = ET.parse(path).getroot()
    except (ET.ParseError, OSError):
        return None
    cases = []
    for suite in root.iter("testsuite"):
        for case in suite.findall("testcase"):
            name = f"{suite.get('name')}.{case.get('name')}"
            failures = [f.text or f.get("message") or "" for f in case.findall("failure")]
            skipped = case.find("skipped")
            if failures:
                cases.append((name, "failed", "\n".join(failures)))
            elif skipped is not None or case.get("result") == "skipped":
                text = (skipped.text or skipped.get("message")) if skipped is not None else ""
                cases.append((name, "skipped", first_line(text)))
            elif case.get("status") == "run":
                cases.append((name, "passed", ""))
            # status notrun: disabled or filtered out; it does not count
    return cases


def gtest_files(directory, program):
    """GoogleTest names the file after the program and appends _1, _2 to later runs of it."""
    mine = re.compile(re.escape(program) + r"(_\d+)?\.xml$")
    return [p for p in sorted(glob.glob(os.path.join(directory, "*.xml")))
            if mine.fullmatch(os.path.basename(p))]


def add_seeds(record, program, output):
    """A random test prints how to repeat it; that line belongs to its failure."""
    for line in output.splitlines():
        if "CAIRN_SEED=" in line:
            for failure in record["failed"]:
                owner, _, test = failure[0].partition(": ")
                if owner == program and line.endswith("=" + test):
                    failure[1] = f"{line}\n{failure[1]}"


def collect(args):
    with open(args.listing, encoding="utf-8") as f:
        tests = json.load(f).get("tests", [])
    programs = {t["name"]: os.path.basename(t.get("command", ["?"])[0]) for t in tests}
    record = {"preset": args.preset, "label": args.label, "seconds": args.seconds,
              "budget": args.budget, "passed": 0, "failed": [], "skipped": []}

    counted = {}  # program -> (cases that failed, whether any result file was there)
    for program in sorted(set(programs.values())):
        failed, seen = 0, False
        for path in gtest_files(args.gtest, program):
            cases = read_gtest_cases(path)
            if cases is None:
                continue
            seen = True
            for name, outcome, text in cases:
                if outcome == "passed":
                    record["passed"] += 1
                elif outcome == "failed":
                    failed += 1
                    record["failed"].append([f"{program}: {name}", text])
                else:
                    record["skipped"].append([f"{program}: {name}", text])
        counted[program] = (failed, seen)

    try:
        cases = list(ET.parse(args.junit).getroot().iter("testcase"))
    except (ET.ParseError, OSError):
        cases = []
        record["failed"].append(["ctest", "ctest wrote no results; see its log"])
    for case in cases:
        add_seeds(record, programs.get(case.get("name"), ""), case.findtext("system-out") or "")
    for case in cases:
        name, status = case.get("name"), case.get("status")
        failed, seen = counted.get(programs.get(name, ""), (0, False))
        output = case.findtext("system-out") or ""
        skip = case.find("skipped")
        message = skip.get("message", "") if skip is not None else ""
        if status == "run":
            record["passed"] += 0 if seen else 1
        elif status == "notrun" and message.startswith("SKIP_"):
            if not seen:
                record["skipped"].append([name, script_skip_reason(output)])
        elif status == "disabled":
            record["skipped"].append([name, "disabled in CMake"])
        elif failed == 0:
            # No case explains it: the program died, hung, or was not there.
            element = case.find("failure")
            why = message or (element.get("message", "") if element is not None else "") or "failed"
            tail = "\n".join(output.splitlines()[-40:])
            record["failed"].append([name, f"{why}\n{tail}" if tail else why])
    reported = {case.get("name") for case in cases}
    for name in programs:
        if cases and name not in reported:
            record["failed"].append([name, "not reported by ctest: the run was cut short"])
    append(args.out, record)


def step(args):
    record = {"preset": "", "label": args.name, "seconds": args.seconds, "budget": args.budget,
              "passed": 0, "failed": [], "skipped": []}
    if args.outcome == "passed":
        record["passed"] = 1
    elif args.outcome != "none":
        record[args.outcome].append([args.name, args.reason])
    append(args.out, record)


def commands(_):
    tests = json.load(sys.stdin).get("tests", [])
    for line in dict.fromkeys(shlex.join(t["command"]) for t in tests if "command" in t):
        print(line)


def append(path, record):
    with open(path, "a", encoding="utf-8") as f:
        f.write(json.dumps(record) + "\n")


def report(args):
    records = []
    if os.path.exists(args.infile):
        with open(args.infile, encoding="utf-8") as f:
            records = [json.loads(line) for line in f]

    for record in records:
        for name, text in record["failed"]:
            print(f"\nFAILED {where(record)}{name}")
            for line in text.splitlines()[:60]:
                print(f"    {line}")

    print(f"\n{'preset':<9}{'label':<15}{'passed':>7}{'failed':>7}{'skipped':>8}{'seconds':>9}{'budget':>8}")
    for record in records:
        seconds = "" if record["seconds"] is None else str(record["seconds"])
        budget = "" if not record["budget"] else str(record["budget"])
        over = "  over budget" if budget and record["seconds"] > record["budget"] else ""
        print(f"{record['preset']:<9}{record['label']:<15}{record['passed']:>7}"
              f"{len(record['failed']):>7}{len(record['skipped']):>8}{seconds:>9}{budget:>8}{over}")

    skips = [(where(r), name, reason) for r in records for name, reason in r["skipped"]]
    if skips:
        print("\nskipped:")
        for place, name, reason in skips:
            print(f"  {place}{name}: {reason}")

    passed = sum(r["passed"] for r in records)
    failed = sum(len(r["failed"]) for r in records)
    closing = f"{passed} passed, {failed} failed"
    if skips:
        closing += f", {len(skips)} skipped"
    print(f"\n{closing}")
    return 1 if failed else 0 if passed else 4


def where(record):
    return f"{record['preset']}/{record['label']} " if record["preset"] else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("collect")
    for name in ("listing", "junit", "gtest", "preset", "label", "out"):
        verb.add_argument(f"--{name}", required=True)
    for name in ("seconds", "budget"):
        verb.add_argument(f"--{name}", type=int, required=True)
    verb = verbs.add_parser("step")
    verb.add_argument("--name", required=True)
    verb.add_argument("--outcome", choices=("passed", "failed", "skipped", "none"),
                      required=True)
    verb.add_argument("--seconds", type=int)
    verb.add_argument("--budget", type=int)
    verb.add_argument("--reason", default="no reason given")
    verb.add_argument("--out", required=True)
    verb = verbs.add_parser("report")
    verb.add_argument("--in", dest="infile", required=True)
    verbs.add_parser("commands")
    args = parser.parse_args()
    actions = {"collect": collect, "step": step, "report": report, "commands": commands}
    return actions[args.verb](args) or 0


if __name__ == "__main__":
    sys.exit(main())
