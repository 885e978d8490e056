"""What a check shows: the verdict line, known mistakes, what to do next; how a terminal wraps it."""

import unittest
from unittest import mock

from course import catch_xml, check, printed, progress, report, screen, verdict
from course.build import Build
from course.catch_xml import Failure, Property
from course_folder import TOML, CourseFolder
from rich.console import Console

RIGHT, WRONG, NOT_STARTED = "right", "wrong", "not started"
FAULT = """\
k_tile[3][64] is touched by two threads with no barrier between
  in attention_forward_kernel, block (0, 0, 0), thread (7, 0, 0)
  both after the barrier at attention_forward.cpp:84"""


class Checked(CourseFolder):
    def shown(
        self,
        *states,
        only=None,
        message="expected 0.25, got 0.5",
        thrown=False,
        lines=(),
        more=0,
        stderr="",
        warning="",
    ):
        """The report on a property for each state; the first half of them belongs to step 1."""
        properties = []
        for number, state in enumerate(states):
            said = {RIGHT: "", WRONG: message, NOT_STARTED: "not started: Step"}[state]
            failures = [Failure(said, "test.cpp", 12, (), thrown)] if said else []
            step = only or (1 if number < len(states) / 2 else 2)
            name = "rows sum to 1" if state == WRONG else f"property {number}"
            properties.append(Property(name, (f"step{step}",), "test.cpp", 9, failures, ended=True))
            properties[-1].printed = printed.Printed([*lines], more)
        found = verdict.judge(
            mock.Mock(properties=properties, complete=True, counted=len(states)),
            mock.Mock(code=any(one.failures for one in properties), stderr=stderr, timed_out=0),
            self.lesson.steps,
            only,
        )
        self.said.clear()
        report.tested(self.lesson, found, Build(self.root), only, 0.8, warning)
        return self.output()


class VerdictLine(Checked):
    def line(self, *states, only=None):
        return self.shown(*states, only=only).splitlines()[-1]

    def test_not_started(self):
        line = self.line(NOT_STARTED, NOT_STARTED)
        self.assertEqual(line, "verdict: not started  0 of 2 properties right (0.8 s)")

    def test_where_something_is_right_a_step_is_not_started(self):
        line = self.line(RIGHT, RIGHT, NOT_STARTED, NOT_STARTED)
        self.assertEqual(line, "verdict: step 2 not started  1 of 2 steps right, 2 of 4 properties (0.8 s)")

    def test_wrong(self):
        line = self.line(RIGHT, RIGHT, WRONG, NOT_STARTED)
        self.assertEqual(line, "verdict: wrong  1 of 2 steps right, 2 of 4 properties, 1 wrong, 1 not started (0.8 s)")

    def test_right(self):
        self.assertEqual(self.line(RIGHT, RIGHT), "verdict: right  2 of 2 properties right (0.8 s)")

    def test_right_so_far(self):
        self.write(f"lessons/{self.lesson.name}/test_support.h", "as_far_as(1, run);\n")
        self.exercise.write_text('fa::todo("Step 2: softmax");\n')
        line = "verdict: right so far  step 1: 1 of 1 property right; step 2 is not written (0.8 s)"
        self.assertEqual(self.line(RIGHT, only=1), line)
        self.assertIn("step 1  Scores   right so far\n", self.shown(RIGHT, NOT_STARTED))

    def test_the_regions_that_are_left_of_a_step(self):
        self.exercise.write_text('fa::todo("Step 2b: the sum");\n')
        self.assertIn("    Not written yet: 2b (the sum)\n", self.shown(RIGHT, NOT_STARTED))

    def test_one_step(self):
        self.assertEqual(self.line(RIGHT, only=2), "verdict: right  step 2: 1 of 1 property right (0.8 s)")


class Printed(Checked):
    def test_what_the_failed_test_printed(self):
        self.assertIn("    it printed:\n      i = 3\n      x: 4\n\n", self.shown(RIGHT, WRONG, lines=("i = 3", "x: 4")))

    def test_the_beginning_of_much(self):
        output = self.shown(RIGHT, WRONG, lines=("line 0", "line 1"), more=9980)
        self.assertIn("    it printed:\n      line 0\n      line 1\n      (and 9,980 lines more)\n\n", output)

    def test_the_compilers_words_without_the_command_that_ran_it(self):
        self.said.clear()
        report.verbatim("FAILED: a.o\n/usr/bin/c++ -Ixyz\na.cu:3:4: error: no\n    3 |  x;\n")
        self.assertEqual(self.output(), "\nFAILED: a.o\na.cu:3:4: error: no\n    3 |  x;\n")

    def test_where_none_fails_of_the_first_that_printed(self):
        self.assertIn("    it printed, in property 0:\n      a\n\n", self.shown(RIGHT, NOT_STARTED, lines=("a",)))
        self.assertNotIn("printed", self.shown(RIGHT, RIGHT))

    def test_a_gpu_says_not_started_on_stdout(self):
        self.assertNotIn("printed", self.shown(NOT_STARTED, NOT_STARTED, lines=("not started: Step 2",)))

    def test_stderr(self):
        self.assertIn(
            "    on stderr it wrote:\n      a: Assertion `x' failed.\n",
            self.shown(RIGHT, WRONG, stderr="a: Assertion `x' failed.\n"),
        )

    def test_the_compilers_warning_where_something_fails(self):
        self.assertIn("    The compiler warned: a.cu:3: bad\n\n", self.shown(RIGHT, WRONG, warning="a.cu:3: bad"))
        self.assertNotIn("warned", self.shown(RIGHT, RIGHT, warning="a.cu:3: bad"))

    def test_the_warning_stands_above_what_may_be_its_consequence(self):
        output = self.shown(RIGHT, WRONG, warning="a.cu:3: bad")
        self.assertLess(output.index("warned"), output.index("This must hold"))


class Crashed(CourseFolder):
    def shown(self, *lines):
        inside = Property("rows sum to 1", ("step2",), "test.cpp", 9, printed=printed.Printed([*lines]))
        found = verdict.judge(
            mock.Mock(properties=[inside], complete=False, counted=None),
            mock.Mock(code=-11, stderr="", timed_out=0),
            self.lesson.steps,
            None,
        )
        self.said.clear()
        report.tested(self.lesson, found, Build(self.root), None, 0.8)
        return self.output()

    def test_what_it_printed_before(self):
        self.assertIn("    it printed:\n      i = 3\n", self.shown("i = 3"))

    def test_what_went_through_cout_is_lost(self):
        self.assertNotIn("std::cout", self.shown())
        self.write(self.lesson.exercise, "std::cout << 3;")
        self.assertIn("What std::cout had to print in this test is lost", self.shown())


class Faults(Checked):
    def test_a_message_of_several_lines_is_shown_whole_and_its_place_can_be_clicked(self):
        output = self.shown(RIGHT, WRONG, message=FAULT, thrown=True)
        self.assertIn(
            "      k_tile[3][64] is touched by two threads with no barrier between\n"
            "        in attention_forward_kernel, block (0, 0, 0), thread (7, 0, 0)\n"
            f"        both after the barrier at {self.lesson.exercise}:84\n",
            output,
        )

    def test_a_place_that_has_its_path_already_stays(self):
        self.assertIn(
            "      at /x/attention_forward.cpp:3\n", self.shown(RIGHT, WRONG, message="at /x/attention_forward.cpp:3")
        )

    def test_it_is_read_from_the_report_with_its_lines(self):
        xml = (
            '<Catch2TestRun><TestCase name="a" tags="[step1]" filename="t.cpp" line="1">'
            f'<Exception filename="t.cpp" line="1">\n      {FAULT}\n    </Exception>'
            '<OverallResult success="false" skips="0"/></TestCase>'
        )
        for kernel in ("attention_forward_kernel", "attention_forward_kernel&lt;fa::half, 64>"):
            failure = catch_xml.parse(xml.replace("attention_forward_kernel", kernel)).properties[0].failures[0]
            self.assertTrue(failure.message.startswith(FAULT.splitlines()[0]))
            self.assertTrue(failure.by_emulator)


class Next(CourseFolder):
    def said_after(self, word, steps, only=None):
        progress.remember(self.state, self.lesson, self.lesson.fingerprint(), word, steps, only)
        self.said.clear()
        check._say_next(self.lesson, self.state, word, steps)
        return self.output()

    def test_after_a_step(self):
        self.assertIn("Next: step 2, Softmax.", self.said_after(RIGHT, {"1": RIGHT}, only=1))
        self.assertIn("Next, all together: ./course check 01\n", self.said_after(RIGHT, {"2": RIGHT}, only=2))

    def test_after_the_lesson(self):
        done = "Lesson 01 is done. Measure it: ./course bench 01 --exercise\n"
        self.assertEqual(self.said_after(RIGHT, {"1": RIGHT, "2": RIGHT}), done)
        self.write("lessons/02_second/lesson.toml", TOML)
        after = done + "Next: lesson 02, lessons/02_second/README.md\n"
        self.assertEqual(self.said_after(RIGHT, {"1": RIGHT, "2": RIGHT}), after)

    def test_after_a_wrong_one(self):
        self.assertEqual(self.said_after(WRONG, {"1": RIGHT, "2": WRONG}), "For a hint: ./course hint 01 --step 2\n")

    def test_after_a_crash_outside_of_every_step(self):
        self.assertEqual(self.said_after(WRONG, {"1": "not reached"}), "For a hint: ./course hint 01\n")


class Wrapped(CourseFolder):
    def lines(self, *parts, **options):
        console = Console(file=screen.console.file, width=30, color_system=None, **screen._OPTIONS)
        with mock.patch.multiple("course.screen", console=console, _plain=False):
            screen.say(*parts, **options)
        return self.output().splitlines()

    def test_a_bullet_stands_out(self):
        lines = self.lines("· one two three four five six seven", indent=4)
        self.assertEqual(lines, ["    · one two three four five", "      six seven"])

    def test_nothing_is_an_empty_line(self):
        self.assertEqual(self.lines("", indent=4), [""])

    def test_lines_hang_under_a_column(self):
        lines = self.lines("01  Title  ", "a state that is longer", hang=11)
        self.assertEqual(lines, ["01  Title  a state that is", "           longer"])


if __name__ == "__main__":
    unittest.main()
