"""What the runner remembers and keeps: verdicts, hints, the student's files."""

import unittest
from unittest import mock

from course import check, overview, verdict
from course.errors import InternalError, UsageError
from course.hint import hint
from course.lessons import find
from course.reset import keep, reset
from course.solution import solution
from course_folder import SOLUTION, STUB, TOML, CourseFolder


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
        self.assertEqual(self.word(), "changed since last check")
        self.exercise.write_text(SOLUTION)
        self.write(f"lessons/{self.lesson.name}/test.cpp", "// stricter tests\n")
        self.assertEqual(self.word(), "changed since last check")

    def test_steps_are_counted(self):
        self.exercise.write_text(SOLUTION)
        self.remember("not started", {"1": "right", "2": "not started"})
        self.assertEqual(self.word(), "in progress (1 of 2 steps right)")
        self.remember("wrong", {"1": "right", "2": "wrong"})
        self.assertEqual(self.word(), "wrong (1 of 2 steps right)")

    def test_the_next_step_is_one_command(self):
        self.commit()
        overview.show(self.lessons, self.state)
        self.assertIn("./course watch 01\n", self.output())

    def test_a_check_of_one_step_does_not_make_the_lesson_right(self):
        self.exercise.write_text(SOLUTION)
        check._remember(self.state, self.lesson, self.lesson.fingerprint(), verdict.RIGHT, {"1": "right"}, 1)
        self.assertEqual(self.word(), "in progress (1 of 2 steps right)")


class Stub(CourseFolder):
    def test_committed_work_does_not_become_the_stub(self):
        self.commit()
        self.exercise.write_text(SOLUTION)
        self.commit()
        self.assertNotEqual(overview.state_of(self.lesson, self.state), "not started")
        reset(self.lesson, self.state, yes=True)
        self.assertEqual(self.exercise.read_text(), STUB)

    def test_a_newer_stub_with_fewer_steps_replaces_the_older_one(self):
        self.exercise.write_text(STUB + STUB)
        self.commit()
        self.exercise.write_text(STUB)
        self.write(f"lessons/{self.lesson.name}/test.cpp", "// fewer steps\n")
        self.commit()
        self.exercise.write_text(SOLUTION)
        self.commit()
        reset(self.lesson, self.state, yes=True)
        self.assertEqual(self.exercise.read_text(), STUB)

    def test_a_correction_of_the_stub_alone_counts(self):
        self.commit()
        corrected = STUB.replace("scores()", "scores(int n)")
        self.exercise.write_text(corrected)
        self.commit()
        self.exercise.write_text(SOLUTION)
        reset(self.lesson, self.state, yes=True)
        self.assertEqual(self.exercise.read_text(), corrected)


class DamagedState(CourseFolder):
    def test_it_is_set_aside_and_said(self):
        for content in (b'{"les', b"\xff\xfe", b"[1]", b'{"lessons": {"01_naive_attention": 3}}'):
            with self.subTest(content):
                self.said.clear()
                (self.root / ".course").mkdir(exist_ok=True)
                self.state.path.write_bytes(content)
                self.assertEqual(self.state.record(self.lesson), {})
                self.assertIn("damaged", self.output())
                self.assertFalse(self.state.path.exists())
        self.state.update(self.lesson, hints=[0])
        self.assertEqual(self.state.record(self.lesson), {"hints": [0]})
        self.assertTrue(list(self.state.folder.glob("state.json.damaged-*")))


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

    def test_for_the_first_step_that_is_not_right(self):
        self.state.update(self.lesson, steps={"1": "right", "2": "wrong"})
        self.assertIn("first of step 2", self.shown())
        self.assertIn("first of step 1", self.shown(step=1))

    def test_all(self):
        output = self.shown(show_all=True)
        for text in ("hint 1 of 3", "first of step 1", "first of step 2", "hint 3 of 3", "second of step 1"):
            self.assertIn(text, output)

    def test_every_step_right(self):
        self.state.update(self.lesson, steps={"1": "right", "2": "right"})
        self.assertNotIn("first of", self.shown())

    def test_a_step_that_does_not_exist(self):
        with self.assertRaises(UsageError):
            hint(self.lesson, self.state, step=3)


class Reset(CourseFolder):
    def kept(self):
        return sorted((self.root / ".course" / "kept").glob("*/*"))

    def test_keeps_a_copy_and_never_overwrites_one(self):
        self.commit()
        with mock.patch("time.strftime", return_value="20260101-120000"):
            for work in ("first try\n", "second try\n"):
                self.exercise.write_text(work)
                self.assertEqual(reset(self.lesson, self.state, yes=True), 0)
                self.assertEqual(self.exercise.read_text(), STUB)
        self.assertEqual(
            [path.name for path in self.kept()],
            ["attention_forward.cpp.20260101-120000", "attention_forward.cpp.20260101-120000-2"],
        )
        self.assertEqual([path.read_text() for path in self.kept()], ["first try\n", "second try\n"])
        self.assertIn(str(self.kept()[0].relative_to(self.root)), self.output())

    def test_a_stub_needs_nothing(self):
        self.commit()
        self.assertEqual(reset(self.lesson, self.state, yes=True), 0)
        self.assertIn("nothing to do", self.output())
        self.assertEqual(self.kept(), [])

    def test_asks_first(self):
        self.commit()
        self.exercise.write_text(SOLUTION)
        with mock.patch("sys.stdin.isatty", return_value=False), self.assertRaises(UsageError):
            reset(self.lesson, self.state, yes=False)
        with mock.patch("sys.stdin.isatty", return_value=True), mock.patch("builtins.input", return_value=""):
            self.assertEqual(reset(self.lesson, self.state, yes=False), 1)
        self.assertEqual(self.exercise.read_text(), SOLUTION)

    def test_without_git_nothing_is_changed(self):
        self.exercise.write_text(SOLUTION)
        with self.assertRaises(InternalError):
            reset(self.lesson, self.state, yes=True)
        self.assertEqual(self.exercise.read_text(), SOLUTION)

    def test_a_deleted_file_comes_back(self):
        self.commit()
        self.exercise.unlink()
        self.assertEqual(reset(self.lesson, self.state, yes=True), 0)
        self.assertEqual(self.exercise.read_text(), STUB)

    def test_a_copy_that_cannot_be_written_stops_the_reset(self):
        self.commit()
        self.exercise.write_text(SOLUTION)
        with mock.patch("os.fsync", side_effect=OSError(28, "No space left on device")), self.assertRaises(OSError):
            reset(self.lesson, self.state, yes=True)
        self.assertEqual(self.exercise.read_text(), SOLUTION)
        self.assertEqual(self.kept(), [])

    def test_the_copy_is_the_bytes_of_the_file(self):
        content = b"\xff\r\n\x00no newline"
        self.assertEqual(keep(self.lesson, content).read_bytes(), content)


class Solution(CourseFolder):
    def test_asks_before_it_spoils(self):
        with mock.patch("sys.stdin.isatty", return_value=False), self.assertRaises(UsageError):
            solution(self.lesson, yes=False)
        with mock.patch("sys.stdin.isatty", return_value=True), mock.patch("builtins.input", return_value="n"):
            self.assertEqual(solution(self.lesson, yes=False), 1)
        self.assertNotIn("work();", self.output())

    def test_shows_the_difference(self):
        self.assertEqual(solution(self.lesson, yes=True), 0)
        self.assertIn("+  work();\n", self.output())
        self.assertIn('-  fa::todo("Step 1: scores");\n', self.output())


class Lessons(CourseFolder):
    def test_names_that_are_understood(self):
        for wanted in ("1", "01", "001", "01_naive_attention"):
            self.assertIs(find(wanted, self.lessons), self.lesson)

    def test_an_unknown_one_lists_those_that_exist(self):
        for wanted in ("2", "x", "", "-1", "١"):
            with self.subTest(wanted), self.assertRaises(UsageError) as caught:
                find(wanted, self.lessons)
            self.assertIn("01_naive_attention  Naive attention", caught.exception.details)

    def test_a_broken_lesson_file_is_named(self):
        from course.lessons import load

        for text in ("title = ", TOML.replace('title = "Naive attention"\n', ""), TOML.replace("step = 2", "step = 7")):
            self.write(f"lessons/{self.lesson.name}/lesson.toml", text)
            with self.assertRaisesRegex(InternalError, "lessons/01_naive_attention/lesson.toml"):
                load(self.root)


if __name__ == "__main__":
    unittest.main()
