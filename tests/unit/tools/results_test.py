"""tools/lib/results.py must not turn a failed, dead or missing run into a passed one."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import tempfile
import types
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[3] / "tools" / "lib" / "results.py"
SPEC = importlib.util.spec_from_file_location("results", SOURCE)
results = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(results)

ONE_OF_EACH = """<testsuites><testsuite name="Suite">
  <testcase name="Passes" status="run" result="completed"/>
  <testcase name="Fails" status="run" result="completed"><failure message="why">why</failure></testcase>
  <testcase name="Skips" status="run" result="skipped"><skipped message="a.cc:3&#10;needs root"/></testcase>
  <testcase name="DISABLED_Sleeps" status="notrun" result="suppressed"/>
</testsuite></testsuites>"""
ALL_PASS = """<testsuites><testsuite name="Suite">
  <testcase name="Passes" status="run" result="completed"/>
</testsuite></testsuites>"""


class Run:
    """A ctest run made up in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.tests, self.cases = [], []
        os.mkdir(os.path.join(folder, "gtest"))

    def test(self, name, status, gtest=None, message="", output=""):
        self.tests.append({"name": name, "command": [f"/bin/{name}"]})
        tag = {"fail": "failure", "notrun": "skipped"}.get(status)
        inner = f'<{tag} message="{message}"/>' if tag else ""
        self.cases.append(f'<testcase name="{name}" status="{status}">{inner}'
                          f"<system-out>{output}</system-out></testcase>")
        if gtest:
            with open(os.path.join(self.folder, "gtest", f"{name}.xml"), "w", encoding="utf-8") as f:
                f.write(gtest)

    def collect(self, junit=True, leave_out=None):
        path = lambda name: os.path.join(self.folder, name)
        with open(path("listing"), "w", encoding="utf-8") as f:
            json.dump({"tests": self.tests}, f)
        if junit:
            cases = [c for c in self.cases if not leave_out or f'"{leave_out}"' not in c]
            with open(path("junit"), "w", encoding="utf-8") as f:
                f.write("<testsuite>" + "".join(cases) + "</testsuite>")
        results.collect(types.SimpleNamespace(
            listing=path("listing"), junit=path("junit"), gtest=path("gtest"), preset="p", label="l",
            seconds=1, budget=60, out=path("out")))
        with open(path("out"), encoding="utf-8") as f:
            return json.loads(f.read())

    def report(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            status = results.report(types.SimpleNamespace(infile=os.path.join(self.folder, "out")))
        return status, text.getvalue()


class Results(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.run_ = Run(scratch.name)

    def test_counts_every_case_of_a_googletest_program(self):
        self.run_.test("a", "fail", ONE_OF_EACH)
        record = self.run_.collect()
        self.assertEqual(record["passed"], 1)
        self.assertEqual(record["failed"], [["a: Suite.Fails", "why"]])
        self.assertEqual(record["skipped"], [["a: Suite.Skips", "needs root"]])
        status, text = self.run_.report()
        self.assertEqual(status, 1)
        self.assertEqual(text.splitlines()[-1], "1 passed, 1 failed, 1 skipped")

    def test_a_program_that_dies_after_its_cases_passed_has_failed(self):
        self.run_.test("leaks", "fail", ALL_PASS, message="exit status 23")
        record = self.run_.collect()
        self.assertEqual(record["passed"], 1)
        self.assertEqual(len(record["failed"]), 1)

    def test_a_program_that_dies_before_it_reports_has_failed(self):
        self.run_.test("dies", "fail", message="Subprocess aborted", output="last words")
        record = self.run_.collect()
        self.assertEqual(record["failed"], [["dies", "Subprocess aborted\nlast words"]])

    def test_a_test_that_could_not_start_has_failed_though_ctest_says_not_run(self):
        self.run_.test("missing", "notrun", message="Unable to find executable")
        self.assertEqual(len(self.run_.collect()["failed"]), 1)

    def test_a_script_that_skips_says_why(self):
        self.run_.test("script", "notrun", message="SKIP_RETURN_CODE=77",
                       output="loops\nSKIPPED: needs root\n")
        self.assertEqual(self.run_.collect()["skipped"], [["script", "needs root"]])

    def test_a_test_that_ctest_never_reports_has_failed(self):
        self.run_.test("a", "run", ALL_PASS)
        self.run_.test("late", "run")
        self.assertEqual([name for name, _ in self.run_.collect(leave_out="late")["failed"]], ["late"])

    def test_a_run_without_a_report_has_failed(self):
        self.run_.test("script", "run")
        self.assertEqual(len(self.run_.collect(junit=False)["failed"]), 1)

    def test_a_failure_shows_how_to_repeat_its_seed(self):
        line = "failed with seed 7; again: CAIRN_SEED=7 a --gtest_filter=Suite.Fails"
        self.run_.test("a", "fail", ONE_OF_EACH, output=line)
        self.assertIn(line, self.run_.collect()["failed"][0][1])

    def test_nothing_that_ran_is_no_success(self):
        open(os.path.join(self.run_.folder, "out"), "w", encoding="utf-8").close()
        status, text = self.run_.report()
        self.assertEqual(status, 4)
        self.assertEqual(text.splitlines()[-1], "0 passed, 0 failed")

    def test_all_passed_is_success(self):
        self.run_.test("a", "run", ALL_PASS)
        self.run_.test("script", "run")
        self.assertEqual(self.run_.collect()["passed"], 2)
        self.assertEqual(self.run_.report()[0], 0)


if __name__ == "__main__":
    unittest.main()
