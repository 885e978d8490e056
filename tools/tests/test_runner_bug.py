"""`./course bug`: the lab's kernels, their states, what is said after a check, the fault shown and put back."""

import unittest
from unittest import mock

from course import bug, bugs, check, cli, progress, report, verdict
from course.build import Build
from course.catch_xml import Failure, Property
from course.errors import InternalError, UsageError
from course_folder import CourseFolder

TOML = """\
title = "Find the bug"
summary = "Two kernels."
[[bug]]
file = "01_sum.cu"
title = "A sum"
find = "i < n"
replace = "i <= n"
[[bug]]
file = "02_tile.cu"
title = "A tile"
find = "barrier();\\n"
replace = ""
"""
SOLUTIONS = {"01_sum.cu": "if (i < n) sum();\n", "02_tile.cu": "load();\nbarrier();\nuse();\n"}
FAULTY = {"01_sum.cu": "if (i <= n) sum();\n", "02_tile.cu": "load();\nuse();\n"}


class Lab(CourseFolder):
    def setUp(self):
        super().setUp()
        self.write(bugs.CATALOG, TOML)
        for file in SOLUTIONS:
            self.write(f"solutions/find_the_bug/{file}", SOLUTIONS[file])
            self.write(f"exercises/find_the_bug/{file}", FAULTY[file])
        self.lab = bugs.load(self.root)
        self.first, self.second = self.lab.bugs

    def run_course(self, *arguments):
        self.said.clear()
        with mock.patch("course.screen.setup"):
            return cli.run(list(arguments), self.root)

    def judged(self, one, word):
        progress.remember(self.state, one, one.fingerprint(), word, {}, None)

    def mend(self, one):
        self.write(one.exercise, SOLUTIONS[one.file])


class Kernels(Lab):
    def test_they_are_shown_and_nothing_is_run(self):
        self.judged(self.first, verdict.WRONG)
        with mock.patch("subprocess.Popen", side_effect=AssertionError):
            self.assertEqual(self.run_course("bug"), 0)
        self.assertIn("01  A sum   not found yet\n", self.output())
        self.assertIn("02  A tile  not looked at\n", self.output())
        self.assertIn("0 of 2 found. Next: ./course bug 01\n", self.output())

    def test_what_was_found_counts_as_long_as_the_file_is_the_same(self):
        self.mend(self.first)
        self.assertEqual(bug.state_of(self.first, self.state), "changed since last check")
        self.judged(self.first, verdict.RIGHT)
        self.run_course("bug")
        self.assertIn("1 of 2 found. Next: ./course bug 02\n", self.output())
        self.write(self.first.exercise, "broken again\n")
        self.run_course("bug")
        self.assertIn("01  A sum   changed since last check\n", self.output())
        self.assertIn("0 of 2 found", self.output())

    def test_all_found(self):
        for one in self.lab.bugs:
            self.mend(one)
            self.judged(one, verdict.RIGHT)
        self.run_course("bug")
        self.assertIn("All 2 found.\n", self.output())

    def test_a_file_that_is_missing_is_said_so(self):
        (self.root / self.first.exercise).unlink()
        self.run_course("bug")
        self.assertIn("01  A sum   the file is missing\n", self.output())
        with self.assertRaisesRegex(UsageError, "does not exist") as raised:
            self.run_course("bug", "01", "--answer")
        self.assertEqual(raised.exception.details, ("To bring it back: ./course bug 01 --reset",))

    def test_the_map_has_a_line_for_the_lab(self):
        self.run_course()
        self.assertIn("Find the bug  not started: ./course bug\n", self.output())
        self.mend(self.second)
        self.judged(self.second, verdict.RIGHT)
        self.run_course()
        self.assertIn("Find the bug  found 1 of 2: ./course bug\n", self.output())

    def test_records_of_kernels_and_lessons_are_kept_apart(self):
        self.judged(self.first, verdict.RIGHT)
        self.assertEqual(self.state.record(self.second), {})
        self.assertEqual(self.state.record(self.lesson), {})


class Arguments(Lab):
    def test_a_kernel_is_named_by_its_number(self):
        for wanted in ("2", "02", "002"):
            self.assertEqual(bugs.find(wanted, self.lab), self.second)
        for wanted in ("3", "0", "two", "-1", ""):
            with self.subTest(wanted), self.assertRaises(UsageError) as raised:
                bugs.find(wanted, self.lab)
            self.assertIn("02  A tile", raised.exception.details)

    def test_what_is_about_one_kernel_needs_its_number(self):
        for arguments in (["--answer"], ["--reset"], ["--gpu"], ["--limit", "5"]):
            with self.subTest(arguments), self.assertRaisesRegex(UsageError, f"^{arguments[0]} is for one kernel"):
                self.run_course("bug", *arguments)

    def test_one_thing_at_a_time(self):
        with self.assertRaisesRegex(UsageError, "one of the two"):
            self.run_course("bug", "1", "--answer", "--reset")

    def test_a_course_without_the_lab_says_so(self):
        (self.root / bugs.CATALOG).unlink()
        with self.assertRaisesRegex(InternalError, "lab is missing"):
            self.run_course("bug")
        self.assertEqual(self.run_course(), 0)

    def test_a_broken_catalog_is_named(self):
        for text, complaint in (("title = ", "not valid TOML"), ('title = "x"\n', "the key 'summary' is missing")):
            self.write(bugs.CATALOG, text)
            with self.subTest(text), self.assertRaisesRegex(InternalError, f"lab.toml.*{complaint}"):
                self.run_course("bug")


class Fault(Lab):
    def test_the_answer_is_the_difference(self):
        with self.assertRaisesRegex(UsageError, "no terminal"):
            self.run_course("bug", "1", "--answer")
        self.assertEqual(self.run_course("bug", "1", "--answer", "--yes"), 0)
        self.assertIn("-if (i <= n) sum();\n+if (i < n) sum();\n", self.output())

    def test_the_fault_is_put_back_without_git_and_the_file_is_kept(self):
        self.write(self.second.exercise, "mine\n")
        self.judged(self.second, verdict.RIGHT)
        with self.assertRaisesRegex(UsageError, "no terminal"):
            self.run_course("bug", "2", "--reset")
        self.assertEqual((self.root / self.second.exercise).read_text(), "mine\n")
        self.assertEqual(self.run_course("bug", "2", "--reset", "--yes"), 0)
        self.assertEqual((self.root / self.second.exercise).read_text(), FAULTY["02_tile.cu"])
        (kept,) = (self.root / ".course/kept/find_the_bug").iterdir()
        self.assertEqual(kept.read_text(), "mine\n")
        self.assertIn("is the kernel with its fault again", self.output())
        self.assertIsNone(self.state.verdict(self.second))

    def test_a_missing_file_comes_back(self):
        (self.root / self.first.exercise).unlink()
        self.assertEqual(self.run_course("bug", "1", "--reset"), 0)
        self.assertEqual((self.root / self.first.exercise).read_text(), FAULTY["01_sum.cu"])

    def test_a_catalog_that_does_not_fit_the_solution_changes_nothing(self):
        self.write(self.first.solution, "i < n, and again i < n\n")
        with self.assertRaisesRegex(InternalError, "occurs 2 times"):
            self.run_course("bug", "1", "--reset", "--yes")
        self.assertEqual((self.root / self.first.exercise).read_text(), FAULTY["01_sum.cu"])


class Report(Lab):
    def shown(self, *messages):
        """The report on a test for each message; none: it is right."""
        failures = [[Failure(said, "test.cpp", 12, (), True)] if said else [] for said in messages]
        tests = [Property(f"test {at}", ("bug01",), "test.cpp", 9, one, ended=True) for at, one in enumerate(failures)]
        found = verdict.judge(
            mock.Mock(properties=tests, complete=True, counted=len(tests)),
            mock.Mock(code=any(messages), stderr="", timed_out=0),
            self.first.steps,
            None,
        )
        self.said.clear()
        report.tested(self.first, found, Build(self.root), None, 0.8)
        return self.output()

    def test_a_fault_is_not_found_yet(self):
        shown = self.shown("", "read of x[3]\n  in sum_kernel, block (0, 0, 0)\n  at 01_sum.cu:1")
        self.assertIn("verdict: not found yet  1 of 2 properties right, 1 wrong (0.8 s)\n", shown)
        self.assertIn("at exercises/find_the_bug/01_sum.cu:1\n", shown)
        self.assertNotIn("step", shown)

    def test_found(self):
        self.assertEqual(self.shown("", "").strip(), "verdict: found  2 of 2 properties right (0.8 s)")

    def test_only_its_own_tests_are_run_and_of_its_own_program(self):
        finished = mock.Mock(stderr="implementation: exercise exercises/find_the_bug/02_tile.cu\n", timed_out=0, code=0)
        with (
            mock.patch.object(check.process, "limited", return_value=finished) as limited,
            mock.patch.object(check.catch_xml, "parse"),
            mock.patch.object(check.catch_xml, "share_out"),
            mock.patch.object(check.verdict, "judge"),
        ):
            check._test(self.second, Build(self.root), f"test_exercise_{self.second.number}", None, None)
        program, *arguments = limited.call_args.args[0]
        self.assertTrue(program.endswith("/test_exercise_bug02"))
        self.assertEqual(arguments[0], "[bug02]")

    def test_what_comes_next_is_said(self):
        self.said.clear()
        bug._say_next(self.lab, self.first, self.state, verdict.WRONG)
        self.assertIn("lessons/find_the_bug/README.md, kernel 01", self.output())
        self.judged(self.first, verdict.RIGHT)
        bug._say_next(self.lab, self.first, self.state, verdict.RIGHT)
        self.assertIn("1 of 2 found. Next: ./course bug 02", self.output())


if __name__ == "__main__":
    unittest.main()
