"""What is right so far and what comes next: results of steps, the map, hints."""

import unittest

from course import lessons, overview, progress, unwritten
from course.errors import UsageError
from course.hint import hint
from course_folder import SOLUTION, TOML, CourseFolder

RIGHT, WRONG, NOT_STARTED, DOES_NOT_COMPILE = "right", "wrong", "not started", "does not compile"


class Remembered(CourseFolder):
    def remember(self, word, steps, only=None, edit=True):
        """The result of a check, on a file that was edited before it."""
        if edit:
            self.exercise.write_text(self.exercise.read_text() + "// edited\n")
        names = {str(number): one for number, one in steps.items()}
        progress.remember(self.state, self.lesson, self.lesson.fingerprint(), word, names, only)

    def known(self):
        return self.state.record(self.lesson)["steps"]

    def next(self):
        return progress.next_step(self.lesson, self.state.record(self.lesson))

    def test_steps_checked_one_at_a_time_outlive_an_edit(self):
        self.remember(RIGHT, {1: RIGHT}, only=1)
        self.remember(NOT_STARTED, {2: NOT_STARTED}, only=2)
        self.assertEqual(self.known(), {"1": RIGHT, "2": NOT_STARTED})
        self.assertEqual(
            overview.state_of(self.lesson, self.state), "in progress (1 of 2 steps right when last checked)"
        )

    def test_a_full_check_overrides_all(self):
        self.remember(RIGHT, {1: RIGHT}, only=1)
        self.remember(WRONG, {1: WRONG, 2: NOT_STARTED})
        self.assertEqual(self.known(), {"1": WRONG, "2": NOT_STARTED})

    def test_what_does_not_compile_says_nothing_about_steps(self):
        self.remember(RIGHT, {1: RIGHT}, only=1)
        self.remember(DOES_NOT_COMPILE, {})
        self.assertEqual(self.known(), {"1": RIGHT})
        self.assertEqual(overview.state_of(self.lesson, self.state), DOES_NOT_COMPILE)

    def test_one_step_does_not_make_the_lesson_right(self):
        for step in (1, 2):
            self.remember(RIGHT, {step: RIGHT}, only=step)
            self.assertIsNone(self.state.verdict(self.lesson))
        self.remember(RIGHT, {1: RIGHT, 2: RIGHT})
        self.remember(RIGHT, {1: RIGHT}, only=1, edit=False)
        self.assertEqual(self.state.verdict(self.lesson), RIGHT)

    def test_a_wrong_step_stays_the_next_one_until_it_is_right(self):
        self.assertEqual(self.next_of_nothing(), 1)
        self.remember(WRONG, {2: WRONG}, only=2)
        self.assertEqual(self.next(), 2)
        self.remember(RIGHT, {2: RIGHT}, only=2)
        self.assertEqual(self.next(), 1)  # nothing after it is left
        self.remember(RIGHT, {1: RIGHT}, only=1)
        self.assertIsNone(self.next())

    def next_of_nothing(self):
        return progress.next_step(self.lesson, {})

    def test_after_a_right_step_comes_the_one_after_it(self):
        self.remember(NOT_STARTED, {1: NOT_STARTED, 2: NOT_STARTED})
        self.assertEqual(self.next(), 1)
        self.remember(RIGHT, {1: RIGHT}, only=1)
        self.assertEqual(self.next(), 2)

    def test_after_a_full_check_the_next_step_is_the_one_that_it_showed(self):
        self.remember(WRONG, {1: NOT_STARTED, 2: WRONG})
        self.assertEqual(self.next(), 2)

    def test_a_reset_forgets(self):
        self.remember(WRONG, {1: RIGHT, 2: WRONG})
        progress.forget(self.state, self.lesson)
        self.assertEqual((self.known(), self.next()), ({}, 1))


class Current(CourseFolder):
    def setUp(self):
        super().setUp()
        for name in ("02_second", "03_third"):
            self.write(f"lessons/{name}/lesson.toml", TOML)
            self.write(f"exercises/{name}/attention_forward.cpp", SOLUTION)
        self.lessons = lessons.load(self.root)

    def remember(self, number, word, steps):
        lesson = self.lessons[number - 1]
        progress.remember(self.state, lesson, lesson.fingerprint(), word, steps, None)

    def current(self):
        return progress.current(self.lessons, self.state).number

    def test_the_first_one_that_is_not_right(self):
        self.assertEqual(self.current(), "01")
        self.remember(1, RIGHT, {"1": RIGHT, "2": RIGHT})
        self.assertEqual(self.current(), "02")

    def test_the_one_in_progress_that_was_checked_last(self):
        self.remember(3, WRONG, {"1": WRONG, "2": NOT_STARTED})
        self.assertEqual(self.current(), "03")
        self.remember(2, NOT_STARTED, {"1": RIGHT, "2": NOT_STARTED})
        self.assertEqual(self.current(), "02")
        self.remember(2, RIGHT, {"1": RIGHT, "2": RIGHT})
        self.assertEqual(self.current(), "03")

    def test_a_look_at_a_stub_begins_nothing(self):
        self.remember(3, NOT_STARTED, {"1": NOT_STARTED, "2": NOT_STARTED})
        self.assertEqual(self.current(), "01")

    def test_a_missing_file_is_not_right(self):
        self.remember(1, RIGHT, {"1": RIGHT, "2": RIGHT})
        self.exercise.unlink()
        self.assertEqual(self.current(), "01")


class Map(CourseFolder):
    def word(self):
        return overview.state_of(self.lesson, self.state)

    def remember(self, word, steps):
        self.state.update(self.lesson, fingerprint=self.lesson.fingerprint(), verdict=word, steps=steps)

    def test_a_fresh_clone_never_reports_a_pass(self):
        self.assertEqual(self.word(), "never checked")  # a downloaded archive: git knows no stub
        self.commit()
        self.assertEqual(self.word(), "not started")
        self.assertFalse((self.root / ".course").exists())

    def test_a_stub_is_not_started_whatever_the_state_claims(self):
        self.commit()
        self.remember("right", {"1": "right", "2": "right"})
        self.assertEqual(self.word(), "not started")

    def test_a_change_after_the_check_takes_the_verdict_back(self):
        self.exercise.write_text(SOLUTION)
        self.remember("right", {"1": "right", "2": "right"})
        self.assertEqual(self.word(), "right")
        self.exercise.write_text(SOLUTION + "// more\n")
        self.assertEqual(self.word(), "changed (2 of 2 steps right when last checked)")
        self.exercise.write_text(SOLUTION)
        self.write(f"lessons/{self.lesson.name}/test.cpp", "// stricter tests\n")
        self.assertEqual(self.word(), "changed (2 of 2 steps right when last checked)")
        overview.show(self.lessons, self.state)
        self.assertIn("when last checked): ./course check 01\n", self.output())

    def test_steps_are_counted(self):
        self.exercise.write_text(SOLUTION)
        self.remember("not started", {"1": "right", "2": "not started"})
        self.assertEqual(self.word(), "in progress (1 of 2 steps right when last checked)")
        self.remember("wrong", {"1": "right", "2": "wrong"})
        self.assertEqual(self.word(), "wrong (1 of 2 steps right when last checked)")

    def test_the_next_step_is_one_command(self):
        self.commit()
        overview.show(self.lessons, self.state)
        self.assertIn("./course watch 01\n", self.output())

    def test_the_next_step_of_a_lesson_in_progress(self):
        self.exercise.write_text(SOLUTION)
        self.remember("not started", {"1": "right", "2": "not started"})
        overview.show(self.lessons, self.state)
        self.assertIn("Next: step 2 of lesson 01, Softmax.", self.output())


class Unwritten(CourseFolder):
    SOURCE = """\
  fa::todo("Step 3a: load");
  // fa::todo("Step 4: not any more");
  if (x) fa::todo("Step 5: weights");
  fa::todo("Step 6: output");
"""

    def setUp(self):
        super().setUp()
        self.exercise.write_text(self.SOURCE)

    def test_what_is_left(self):
        self.assertEqual([str(one) for one in unwritten.regions(self.lesson)], ["3a (load)", "weights", "output"])
        self.assertEqual([one.step for one in unwritten.regions(self.lesson, 5)], [5])

    def test_later_steps_count_where_they_end_the_kernel_that_is_tested(self):
        self.assertEqual(unwritten.later_steps(self.lesson, 3), [])
        self.write(f"lessons/{self.lesson.name}/test_support.h", "as_far_as(step, [&] { run(); });\n")
        self.assertEqual(unwritten.later_steps(self.lesson, 3), [5, 6])
        self.assertEqual(unwritten.later_steps(self.lesson, 6), [])
        self.state.update(
            self.lesson, fingerprint=self.lesson.fingerprint(), verdict="not started", steps={"1": "right"}
        )
        self.assertIn("(1 of 2 steps right so far when", overview.state_of(self.lesson, self.state))

    def test_in_the_course_they_are_the_lessons_whose_steps_share_a_kernel(self):
        shared = {one.number for one in lessons.load() if unwritten.tested_as_far_as(one)}
        self.assertEqual(shared, {"06", "07", "10", "11"})

    def test_they_are_said(self):
        for steps, words in (
            ([5], "step 5 is not written"),
            ([5, 6], "steps 5 and 6 are not written"),
            ([4, 5, 6], "steps 4 to 6 are not written"),
            ([2, 4, 5], "steps 2, 4 and 5 are not written"),
        ):
            self.assertEqual(unwritten.said(steps), words)


class Hints(CourseFolder):
    def shown(self, **options):
        self.said.clear()
        self.assertEqual(hint(self.lesson, self.state, **options), 0)
        return self.output()

    def test_in_order_and_counted(self):
        first, second, third = self.shown(), self.shown(), self.shown()
        self.assertIn("hint 1 of 2 for step 1 (Scores)\n\n    first of step 1\n", first)
        self.assertIn("hint 2 of 2 for step 1 (Scores)\n\n    second of step 1\n", second)
        self.assertIn("You have seen all hints", third)
        self.assertIn("second of step 1", third)

    def test_for_the_step_that_is_next(self):
        self.state.update(self.lesson, steps={"1": "right", "2": "wrong"})
        self.assertIn("first of step 2", self.shown())
        self.assertIn("first of step 1", self.shown(step=1))

    def test_one_more_of_a_step_that_was_asked_for(self):
        self.assertIn("The next one: ./course hint 01 --step 1\n", self.shown(step=1))

    def test_all_are_numbered_by_step(self):
        headings = [line for line in self.shown(show_all=True).splitlines() if line.startswith("hint ")]
        self.assertEqual(
            headings,
            ["hint 1 of 2 for step 1 (Scores)", "hint 2 of 2 for step 1 (Scores)", "hint 1 of 1 for step 2 (Softmax)"],
        )
        self.assertNotIn("for step 1", self.shown(step=2, show_all=True))

    def test_every_step_right(self):
        self.state.update(self.lesson, steps={"1": "right", "2": "right"})
        self.assertNotIn("first of", self.shown())

    def test_a_step_that_does_not_exist(self):
        with self.assertRaises(UsageError):
            hint(self.lesson, self.state, step=3)


if __name__ == "__main__":
    unittest.main()
