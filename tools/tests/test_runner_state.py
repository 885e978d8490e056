"""What the runner keeps: the state, the student's files, the stub."""

import json
import unittest
from unittest import mock

from course import overview
from course.errors import InternalError, UsageError
from course.lessons import find
from course.reset import keep, reset
from course.solution import solution
from course_folder import SOLUTION, STUB, TOML, CourseFolder


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
        for content in (b'{"les', b"\xff\xfe", b"[1]", b'{"lessons": {"01_naive_attention": 3}}', b"[" * 100000):
            with self.subTest(content):
                self.said.clear()
                (self.root / ".course").mkdir(exist_ok=True)
                self.state.path.write_bytes(content)
                self.assertEqual(self.state.record(self.lesson), {})
                self.assertIn("damaged", self.output())
                self.assertFalse(self.state.path.exists())
        for field in ('"steps": [1]', '"hints": 1', '"about": "x"', '"checked": []', '"verdict": {}', '"built": 1'):
            with self.subTest(field):
                self.state.path.write_text(f'{{"lessons": {{"{self.lesson.name}": {{{field}}}}}}}')
                self.assertEqual(self.state.record(self.lesson), {})
                self.assertFalse(self.state.path.exists())
        self.state.update(self.lesson, hints=[0])
        self.assertEqual(self.state.record(self.lesson), {"hints": [0]})
        self.assertTrue(list(self.state.folder.glob("state.json.damaged-*")))


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
        kept = self.kept()[0].relative_to(self.root)
        self.assertIn(f"    cp {kept} {self.lesson.exercise}\n", self.output())

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

    def test_what_is_saved_while_it_asks_is_kept(self):
        self.commit()
        self.exercise.write_text("first\n")

        def save_and_agree(prompt):
            self.exercise.write_text("second\n")
            return "y"

        with mock.patch("sys.stdin.isatty", return_value=True), mock.patch("builtins.input", save_and_agree):
            self.assertEqual(reset(self.lesson, self.state, yes=False), 0)
        self.assertEqual([path.read_text() for path in self.kept()], ["second\n"])
        self.assertEqual(self.exercise.read_text(), STUB)

    def test_a_stub_that_cannot_be_written_leaves_the_file(self):
        self.commit()
        self.exercise.write_text(SOLUTION)
        with mock.patch("pathlib.Path.replace", side_effect=OSError(28, "No space left on device")):
            with self.assertRaises(OSError):
                reset(self.lesson, self.state, yes=True)
        self.assertEqual(self.exercise.read_text(), SOLUTION)
        self.assertEqual(list(self.exercise.parent.iterdir()), [self.exercise])

    def test_a_link_stays_one(self):
        self.commit()
        elsewhere = self.root / "mine.cpp"
        elsewhere.write_text(SOLUTION)
        self.exercise.unlink()
        self.exercise.symlink_to(elsewhere)
        reset(self.lesson, self.state, yes=True)
        self.assertTrue(self.exercise.is_symlink())
        self.assertEqual(elsewhere.read_text(), STUB)

    def test_a_checkout_of_another_user_has_its_stubs_too(self):
        self.commit()
        self.exercise.write_text(SOLUTION)
        with mock.patch.dict("os.environ", {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}):
            self.assertEqual(reset(self.lesson, self.state, yes=True), 0)
        self.assertEqual(self.exercise.read_text(), STUB)

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
            solution(self.lesson, self.state, yes=False)
        with mock.patch("sys.stdin.isatty", return_value=True), mock.patch("builtins.input", return_value="n"):
            self.assertEqual(solution(self.lesson, self.state, yes=False), 1)
        self.assertNotIn("work();", self.output())

    def test_shows_the_difference(self):
        self.assertEqual(solution(self.lesson, self.state, yes=True), 0)
        self.assertIn("+  work();\n", self.output())
        self.assertIn('-  fa::todo("Step 1: scores");\n', self.output())
        self.assertIn("@@ -1,", self.output())

    def test_in_a_long_file_a_common_line_is_no_difference(self):
        other = "void f() {\n  g();\n}\n\n" * 100
        self.exercise.write_text(other + self.exercise.read_text())
        self.write(self.lesson.solution, other + SOLUTION.replace("work();", "if (a) {\n    work();\n  }\n"))
        solution(self.lesson, self.state, yes=True)
        changed = [line for line in self.output().splitlines() if line.startswith("-")]
        self.assertEqual(changed[1:], ['-  fa::todo("Step 1: scores");'])
        self.assertIn("@@ -399,", self.output())

    def test_the_lines_that_mark_a_task_are_no_difference(self):
        self.exercise.write_text("void scores() {\n  // TODO begin\n  work();\n  // TODO end\n}\n")
        self.assertEqual(solution(self.lesson, self.state, yes=False), 0)
        self.assertIn("equals the solution", self.output())

    def test_nothing_is_spoiled_once_the_lesson_is_right(self):
        self.exercise.write_text("void scores() {\n  // TODO begin\n  my_work();\n  // TODO end\n}\n")
        self.state.update(self.lesson, fingerprint=self.lesson.fingerprint(), verdict="right")
        self.assertEqual(solution(self.lesson, self.state, yes=False), 0)
        self.assertIn("+  work();\n", self.output())


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
        self.write(f"lessons/{self.lesson.name}/lesson.toml", TOML + "step = 3\n")
        with self.assertRaisesRegex(InternalError, "a mistake is of step 3; the lesson has steps 1 to 2"):
            load(self.root)

    def test_a_damaged_record_of_symptoms_is_named_with_a_way_to_get_it_back(self):
        from course.lessons import SYMPTOMS, load

        file = f"lessons/{self.lesson.name}/{SYMPTOMS}"
        sound = {"tests": ["a"], "mistakes": {"x": "x said"}, "apart": {"x": {"a": "said"}}}
        self.write(file, json.dumps(sound))
        load(self.root)
        damages = {"tests": 3, "mistakes": [], "apart": {"x": 1}}, {"mistakes": {"x": "xx said"}}, {"tests": None}
        texts = [
            "{",
            "[]",
            "3",
            "[" * 100_000,
            *(json.dumps(sound | {k: v}) for one in damages for k, v in one.items()),
        ]
        for text in texts:
            self.write(file, text)
            with self.subTest(text[:80]), self.assertRaisesRegex(InternalError, f"^{file} is damaged: ") as caught:
                load(self.root)
            self.assertEqual(caught.exception.details, (f"To get it back: git checkout -- {file}",))
        (self.root / file).unlink()
        load(self.root)


if __name__ == "__main__":
    unittest.main()
