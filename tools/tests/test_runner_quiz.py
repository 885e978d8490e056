"""./course quiz: asks, judges, explains, remembers, and ends honestly."""

import contextlib
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

from course import asking, cli, lessons
from course.errors import InternalError, UsageError
from course_folder import NAME, CourseFolder

QUIZ = """\
from course import formulas
from course.counting import Count, Term
from course.question import choice, count, whole

def size(draw):
    N = draw.randrange(100, 200)
    return count(f"N = {N}. How many bytes do S and P take?", formulas.standard_scratch(N, N), "N² each.")

def blocks(draw):
    return whole("How many?", 3, "Three.", ["1 + 2 = 3"])

def side(draw):
    return choice("Which?", ("left", "right"), "right", "The right one.")

QUESTIONS = (size, blocks, side)
"""


def stdin(text: bytes):
    """What a pipe brings."""
    return mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))


class Quiz(CourseFolder):
    def setUp(self):
        super().setUp()
        self.write(f"lessons/{NAME}/quiz.py", QUIZ)

    def run_quiz(self, typed: bytes, *arguments):
        self.said.clear()
        with stdin(typed), mock.patch("course.screen.setup"):
            return cli.run(["quiz", "1", "--seed", "7", *arguments], self.root)

    def right_size(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.run_quiz(b"", "--json", "--answers")
        return json.loads(printed.getvalue())["questions"][0]["answer"]

    def remembered(self):
        return self.state.record(self.lesson)["quiz"]

    def test_all_right(self):
        typed = f"{self.right_size()}\n3\nb\n".encode()
        self.assertEqual(self.run_quiz(typed), 0)
        self.assertIn("3 of 3 right.", self.output())
        self.assertIn("Each kind of question of lesson 01 was right", self.output())
        self.assertNotIn("1 + 2 = 3", self.output())
        self.assertIn("The same numbers again: ./course quiz 01 --seed 7", self.output())

    def test_wrong_answers_are_explained(self):
        self.assertEqual(self.run_quiz(b"12\n4\na\n"), 1)
        output = self.output()
        self.assertIn("Understood as 12 bytes.", output)
        self.assertIn(f"Wrong. The answer: {self.right_size()}.", output)
        self.assertIn("1 + 2 = 3", output)
        self.assertIn("together: ", output)
        self.assertIn("0 of 3 right.", output)
        self.assertIn("Not right when last asked, or not asked: size, blocks, side", output)
        self.assertIn("./course quiz 01 --kind size", output)

    def test_an_empty_line_is_no_answer(self):
        self.assertEqual(self.run_quiz(b"\n3\nright\n"), 1)
        self.assertNotIn("Wrong.", self.output())
        self.assertIn("2 of 3 right.", self.output())

    def test_without_a_terminal_a_line_is_for_one_question(self):
        self.assertEqual(self.run_quiz(b"what\n3\r\nb\n"), 1)
        self.assertIn("'what' is not", self.output())
        self.assertIn("2 of 3 right.", self.output())

    def test_bytes_that_are_no_text(self):
        self.assertEqual(self.run_quiz(b"\xff\xfe\n3\nb\n"), 1)
        self.assertIn("2 of 3 right.", self.output())

    def test_an_end_of_the_lines_ends_it_honestly(self):
        self.assertEqual(self.run_quiz(b"1\n3\n"), 1)
        self.assertIn("1 of 2 right. 1 not asked.", self.output())
        self.assertEqual(set(self.remembered()), {"size", "blocks"})
        self.assertEqual(self.run_quiz(b""), 1)
        self.assertIn("0 of 0 right. 3 not asked.", self.output())

    def test_what_cannot_be_kept_is_not_asked_for(self):
        self.write(".course/state.lock/file", "in a folder where the file should be\n")
        with self.assertRaisesRegex(InternalError, "Cannot write in .course/"):
            self.run_quiz(b"12\n4\na\n")
        self.assertNotIn("How many bytes", self.output())

    def test_an_interruption_keeps_what_was_answered(self):
        with mock.patch.object(asking, "line", side_effect=["1", "3", KeyboardInterrupt]):
            with self.assertRaises(KeyboardInterrupt):
                self.run_quiz(b"")
        self.assertIn("1 of 2 right. 1 not asked.", self.output())
        self.assertEqual(self.remembered()["blocks"], {"asked": 1, "right": 1, "last": True, "seed": 7})

    def test_what_was_right_is_remembered_beside_other_things(self):
        self.state.update(self.lesson, hints=[1], verdict="wrong")
        exercise = self.exercise.read_bytes()
        self.run_quiz(b"1\n3\n")
        self.run_quiz(b"1\n4\n")
        self.assertEqual(self.remembered()["blocks"], {"asked": 2, "right": 1, "last": False, "seed": 7})
        self.assertEqual(self.state.record(self.lesson)["hints"], [1])
        self.assertEqual(self.exercise.read_bytes(), exercise)

    def test_a_record_that_somebody_edited(self):
        self.state.update(self.lesson, quiz={"blocks": "yes", "size": {"asked": "many", "right": 0, "last": True}})
        self.assertEqual(self.run_quiz(b"1\n3\n"), 1)
        self.assertEqual(self.remembered()["blocks"]["asked"], 1)

    def test_one_kind(self):
        self.assertEqual(self.run_quiz(b"3\n", "--kind", "blocks"), 0)
        self.assertIn("1 question, seed 7", self.output())
        with self.assertRaises(UsageError) as caught:
            self.run_quiz(b"", "--kind", "block")
        self.assertIn("size, blocks, side", caught.exception.details)

    def test_a_document_without_answers_and_with_them(self):
        for flags, known in (((), False), (("--answers",), True)):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                self.assertEqual(self.run_quiz(b"", "--json", *flags), 0)
            document = json.loads(printed.getvalue())
            self.assertEqual((document["lesson"], document["seed"]), (NAME, 7))
            self.assertEqual([one["kind"] for one in document["questions"]], ["size", "blocks", "side"])
            self.assertEqual(["answer" in one for one in document["questions"]], [known] * 3)
            self.assertEqual(document["questions"][2]["options"], ["a) left", "b) right"])
        self.assertEqual(self.output(), "")
        self.assertNotIn("quiz", self.state.record(self.lesson))

    def test_answers_for_an_instructor_to_read(self):
        self.assertEqual(self.run_quiz(b"", "--answers"), 0)
        self.assertIn("Answer: b) right.", self.output())
        self.assertIn("1 + 2 = 3", self.output())

    def test_a_lesson_without_questions_and_bad_seeds(self):
        with self.assertRaises(UsageError):
            self.run_quiz(b"", "--seed", "-1")
        (self.root / f"lessons/{NAME}/quiz.py").unlink()
        with self.assertRaisesRegex(UsageError, "no questions yet"):
            self.run_quiz(b"")

    def test_without_a_seed_one_is_drawn_and_told(self):
        with stdin(b""), mock.patch("course.screen.setup"):
            cli.run(["quiz"], self.root)  # the lesson to work on
        self.assertRegex(self.output(), r"quiz 01 --seed \d+\n")

    def test_reading_the_questions_leaves_no_file_in_the_lesson(self):
        self.run_quiz(b"")
        self.assertFalse(list((self.root / "lessons").rglob("__pycache__")))


class Terminal(unittest.TestCase):
    """The course itself on a terminal of its own."""

    def drive(self, *keys):
        ours, theirs = pty.openpty()
        environment = os.environ | {"PYTHONPATH": str(lessons.ROOT / "tools"), "TERM": "xterm"}
        command = [sys.executable, "-c", SCRIPT]
        child = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
        )
        os.close(theirs)
        output = b""
        self.addCleanup(os.close, ours)
        for key in keys:
            while output.count(b"\n> ") + output.count(b"\r> ") < 1:
                output += os.read(ours, 4096)
            self.seen, output = getattr(self, "seen", b"") + output, b""
            if key == signal.SIGINT:
                time.sleep(0.1)
                os.kill(child.pid, signal.SIGINT)
            else:
                os.write(ours, key)
        with contextlib.suppress(OSError):  # the terminal is closed
            while part := os.read(ours, 4096):
                output += part
        return child.wait(20), (self.seen + output).decode()

    def test_it_asks_again_until_it_understands(self):
        code, output = self.drive(b"what\n", b"3\n", b"\x04")
        self.assertEqual(code, 1)
        self.assertIn("'what' is not", output)
        self.assertRegex(output, r"1 of 1 right\.\S* 1 not asked")

    def test_ctrl_c(self):
        code, output = self.drive(b"3\n", signal.SIGINT)
        self.assertEqual(code, 130)
        self.assertRegex(output, r"1 of 1 right\.\S* 1 not asked")
        self.assertNotIn("Traceback", output)


# A course of two questions in a temporary folder, by the runner's own main().
SCRIPT = '''
import sys, tempfile
from pathlib import Path
from course import __main__, cli, lessons
folder = tempfile.TemporaryDirectory()
root = Path(folder.name)
(root / "lessons/01_x").mkdir(parents=True)
(root / "lessons/01_x/lesson.toml").write_text("""title = "X"
summary = "x"
file = "x.cpp"
step = [{title = "s"}]
""")
(root / "lessons/01_x/quiz.py").write_text("""
from course.question import whole
def one(draw):
    return whole("How many?", 3, "Three.")
def two(draw):
    return whole("And now?", 4, "Four.")
QUESTIONS = (one, two)
""")
run = cli.run
cli.run = lambda arguments: run(arguments, root)
sys.argv = ["course", "quiz", "1", "--seed", "7"]
sys.exit(__main__.main())
'''

if __name__ == "__main__":
    unittest.main()
