"""./course grade: what becomes of a program that was run, and of limits under which nothing can pass."""

import unittest
from unittest import mock

from course import grade, grade_build, grade_sandbox
from course.build import Built
from course.errors import InternalError, UsageError
from course.grade_points import StepGrade
from course.grade_reading import Refused
from course_folder import CourseFolder

FILE = "attention_forward.cpp"


class Steps(CourseFolder):
    """Of the names in TESTS, what the program of a submission said."""

    TESTS = ("a", "b", "c", "d")

    def step(self, **said):
        ran = grade_sandbox.Ran(ready=True, **said)
        with mock.patch("course.grade_sandbox.tests", return_value=ran):
            grader = grade.Grader(grade.Options([], []), self.root)
            return grader._step(1, "Scores", list(self.TESTS), self.root / "tests", self.root, 7)

    def test_what_a_loop_kept_from_running(self):
        step = self.step(passed={"a"}, began=["a", "b"], stop="ended after 60 s")
        self.assertEqual((step.state, step.passed, step.not_run), ("wrong", 1, 2))
        self.assertEqual((step.test, step.message, step.stop), ("b", "ended after 60 s", 'ended after 60 s, in "b"'))

    def test_a_failure_before_it_is_told_first(self):
        step = self.step(failed={"a": "got 2"}, began=["a", "b", "no test of ours"], stop="ended after 60 s")
        self.assertEqual((step.test, step.message, step.stop), ("a", "got 2", 'ended after 60 s, in "b"'))

    def test_an_exit_is_told_too(self):
        step = self.step(passed={"a"}, began=["a", "b"])
        self.assertEqual((step.not_run, step.stop), (2, 'the program ended by itself, in "b"'))

    def test_nothing_is_added_where_all_were_run(self):
        step = self.step(failed={"b": "got 2"}, passed={"a", "c", "d"}, began=list(self.TESTS))
        self.assertEqual((step.not_run, step.stop, step.message), (0, "", "got 2"))


class Settings(CourseFolder):
    """The course's own solution, under the instructor's limits."""

    def setUp(self):
        super().setUp()
        self.write(f"class/ada/{FILE}", "text")
        self.write(f"class/ben/{FILE}", "text")
        workshop = mock.Mock(solution="solution.o")
        for name, value in (
            ("course.build.Build.target", mock.Mock(return_value=Built(True, ""))),
            ("course.grade_build.Workshop", mock.Mock(return_value=workshop)),
            ("course.grade_build.tests_of", mock.Mock(return_value={1: ["a"], 2: ["b"]})),
            ("course.grade.Grader._grade_one", mock.Mock(side_effect=AssertionError("a student was graded"))),
        ):
            patch = mock.patch(name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.workshop = workshop

    def grade(self, *, error=None, **step):
        steps = (StepGrade(1, "Scores", step.pop("state", "wrong"), 1, 0, "a", **step),)
        found = mock.Mock(side_effect=error) if error else mock.Mock(return_value=steps)
        with mock.patch("course.grade.Grader._test", found):
            grade.grade(grade.Options([self.root / "class"], [self.lesson], limit=0.3), self.lessons, self.root)

    def test_limits_that_are_too_small_are_told_once_before_anybody_is_graded(self):
        for step in ({"message": "got 2", "stop": "ended after 0.3 s"}, {"message": "std::bad_alloc"}):
            with self.subTest(step), self.assertRaisesRegex(UsageError, "--limit 0.3 and --memory 2048") as caught:
                self.grade(**step)
            self.assertEqual(caught.exception.details[:2], (step["message"], "step 1, the test: a"))
        with self.assertRaisesRegex(UsageError, "nothing was graded"):
            self.grade(error=grade_sandbox.DidNotStart("it was ended after 0.3 s"))
        self.workshop.make.side_effect = grade_build.TookTooMuch("compiling took more than 2048 MB")
        with self.assertRaisesRegex(UsageError, "nothing was graded") as caught:
            self.grade(message="")
        self.assertEqual(caught.exception.details[0], "compiling took more than 2048 MB")

    def test_a_solution_that_is_wrong_is_no_matter_of_limits(self):
        with self.assertRaisesRegex(InternalError, "does not pass: got 2"):
            self.grade(message="got 2")
        self.workshop.make.side_effect = grade_build.DoesNotCompile("no function")
        with self.assertRaisesRegex(InternalError, "solution of lesson 01: no function"):
            self.grade(message="")

    def test_a_solution_that_would_be_refused_costs_nobody_points(self):
        self.workshop.make.side_effect = Refused("includes /usr/lib/errno.h, which is not part of the lesson")
        with self.assertRaisesRegex(InternalError, "solution of lesson 01: includes /usr/lib/errno.h"):
            self.grade(message="")
        (given, _), _ = self.workshop.make.call_args
        self.assertEqual(given, (self.root / self.lesson.solution).read_bytes())

    def test_inputs_with_which_the_solution_fails_cost_nobody_points(self):
        grader = grade.Grader(grade.Options([], []), self.root)
        grader.cases[self.lesson.name] = {1: ["a"], 2: ["b"]}
        seeds = []

        def run(number, title, names, program, empty, seed):
            """The submission is wrong in step 2, and so is the solution with some of the seeds."""
            ours = program.name == "test_solution_01"
            seeds.append((number, seed, ours))
            wrong = number == 2 and (not ours or seed in unlucky)
            return StepGrade(number, title, "wrong" if wrong else "right", 1, 0, "b", "got 2")

        with mock.patch.object(grader, "_step", run):
            unlucky = ()
            steps, seed = grader._fairly(self.lesson, self.root / "tests", self.root, 7)
            self.assertEqual(([one.state for one in steps], seed), (["right", "wrong"], 7))
            self.assertEqual(seeds, [(1, 7, False), (2, 7, False), (2, 7, True)])
            unlucky = (7, 8)
            self.assertEqual(grader._fairly(self.lesson, self.root / "tests", self.root, 7)[1], 9)
            unlucky = (7, 8, 9)
            with self.assertRaisesRegex(InternalError, "solution fails in step 2, too: got 2"):
                grader._fairly(self.lesson, self.root / "tests", self.root, 7)


if __name__ == "__main__":
    unittest.main()
