"""./course grade: what was handed in, points, and the documents."""

import json
import os
import socket
import unittest
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

from course import (
    cli,
    grade,
    grade_formats,
    grade_points,
    grade_submissions,
    lessons,
    screen,
)
from course.errors import InternalError, UsageError
from course.grade_points import MISSING, NOT_GRADED, REFUSED, LessonGrade, StepGrade
from course.grade_submissions import Student
from course_folder import NAME, TOML, CourseFolder

FILE = "attention_forward.cpp"


class HandedIn(CourseFolder):
    def setUp(self):
        super().setUp()
        for name, file in (("02_online_softmax", "online_softmax.cpp"), ("03_tiled_attention", FILE)):
            self.write(f"lessons/{name}/lesson.toml", TOML.replace(FILE, file))
        self.lessons = lessons.load(self.root)

    def students(self, *paths):
        return [one.name for one in grade_submissions.students([self.root / path for path in paths], self.lessons)]

    def read(self, number=0, asked=None):
        student = Student("ada", self.root / "class/ada")
        return grade_submissions.read(student, self.lessons[number], asked or self.lessons)

    def test_a_file_is_found_in_three_places(self):
        self.write("class/ada/online_softmax.cpp", "by its name")
        self.assertEqual(self.read(1).data, b"by its name")
        self.write("class/ada/02_online_softmax/online_softmax.cpp", "in its lesson")
        self.assertEqual(self.read(1).data, b"in its lesson")
        self.write("class/ada/exercises/02_online_softmax/online_softmax.cpp", "in its place")
        self.assertEqual(self.read(1).data, b"in its place")

    def test_a_name_that_two_lessons_have_is_taken_only_if_one_is_asked_for(self):
        self.write(f"class/ada/{FILE}", "of which lesson?")
        self.assertEqual((self.read().data, self.read().word), (None, MISSING))
        self.assertEqual(self.read(asked=self.lessons[:1]).data, b"of which lesson?")

    def test_nothing_is_missing_and_costs_nobody_else(self):
        self.write("class/ada/notes.txt", "")
        one = self.read()
        self.assertEqual((one.data, one.word), (None, MISSING))
        self.assertIn(f"exercises/{NAME}/{FILE} is missing", one.reason)

    def test_a_file_in_the_wrong_place_is_named(self):
        self.write(f"class/ada/course-main/solutions/{NAME}/{FILE}", "")
        self.write(f"class/ada/course-main/exercises/{NAME}/{FILE}", "")
        self.assertIn(f", and course-main/exercises/{NAME}/{FILE} is not where it is looked for", self.read().reason)
        self.write("class/ada/mine/online_softmax.cpp", "")
        self.assertIn(", and mine/online_softmax.cpp is not", self.read(1).reason)
        self.assertTrue(self.read(2).reason.endswith("is missing"))

    def refused(self):
        one = self.read()
        self.assertEqual((one.data, one.word), (None, REFUSED))
        return one.reason

    def test_links_folders_pipes_and_huge_files_are_refused(self):
        place = self.root / f"class/ada/exercises/{NAME}/{FILE}"
        place.parent.mkdir(parents=True)
        place.symlink_to(self.root / self.lesson.solution)
        self.assertIn("a link", self.refused())
        place.unlink()
        place.mkdir()
        self.assertIn("must be a file", self.refused())
        place.rmdir()
        os.mkfifo(place)
        self.assertIn("must be a file", self.refused())
        place.unlink()
        place.write_bytes(b"/" * 1_000_001)
        self.assertIn("1,000,000 bytes", self.refused())
        place.write_bytes(b"/" * 1_000_000)
        self.assertEqual(len(self.read().data), 1_000_000)

    def test_a_folder_of_the_path_may_be_no_link_either(self):
        (self.root / "class/ada/exercises").mkdir(parents=True)
        (self.root / f"class/ada/exercises/{NAME}").symlink_to(self.root / f"solutions/{NAME}")
        self.assertIn("a link", self.refused())

    def test_a_student_or_a_class(self):
        self.write(f"class/ada/exercises/{NAME}/{FILE}", "")
        self.write("class/ben/online_softmax.cpp", "")
        self.write("class/.git/config", "")
        self.write("class/readme.txt", "")
        self.assertEqual(self.students("class"), ["ada", "ben"])
        self.assertEqual(self.students("class/ben", "class/ada"), ["ada", "ben"])

    def test_one_student_is_one_whatever_was_uploaded(self):
        def one(path):
            found = grade_submissions.one_student(self.root / path, self.lessons)
            return [student.name for student in found]

        self.write("uploads/4711/softmax.cpp", "under another name")
        self.write("uploads/4712/src/online_softmax.cpp", "in another folder")
        self.assertEqual(one("uploads/4711"), ["4711"])
        self.assertEqual(one("uploads/4712"), ["4712"])
        for name in ("ada", "ben"):
            self.write(f"class/{name}/online_softmax.cpp", "")
        self.assertEqual(one("class"), ["ada", "ben"])
        with self.assertRaisesRegex(UsageError, "must be a folder"):
            one("uploads/4713")

    def test_what_cannot_be_told_apart_is_said(self):
        self.write("class/ada/online_softmax.cpp", "")
        self.write("more/ada/online_softmax.cpp", "")
        self.write("empty/notes.txt", "")
        for paths, said in ((["class", "more"], "Two folders"), (["empty"], "no exercise"), (["none"], "a folder")):
            with self.subTest(paths), self.assertRaisesRegex(UsageError, said):
                self.students(*paths)


def graded(lesson, states, word="wrong", reason="", student="ada", message="out[0] \x1b[31m at 0x7ffe12345678"):
    steps = [
        StepGrade(number, title, state, 2, 2 if state == "right" else 1, "" if state == "right" else "a test", message)
        for number, (title, state) in enumerate(zip(lesson.steps, states, strict=True), 1)
    ]
    return LessonGrade(student, lesson, word, tuple(steps), 7, reason, "ab" * 32)


class Points(CourseFolder):
    def test_equal_parts_rounded_once(self):
        for count, right, points in ((6, 5, 83.33), (3, 2, 66.67), (6, 6, 100), (7, 1, 14.29), (8, 1, 12.5), (6, 0, 0)):
            lesson = mock.Mock(steps=("step",) * count)
            one = graded(lesson, ["right"] * right + ["wrong"] * (count - right))
            self.assertEqual(one.points, points)

    def test_what_was_not_graded_has_no_points(self):
        one = grade_points.without_tests("ada", self.lesson, NOT_GRADED, "no compiler", 1)
        self.assertIsNone(one.points)
        self.assertIsNone(grade_formats.total([graded(self.lesson, ["right"] * 2), one]))
        self.assertEqual(grade_points.without_tests("ada", self.lesson, MISSING, "nothing", 1).points, 0)

    def test_seeds_are_of_the_text_and_of_the_student(self):
        self.assertEqual(grade_points.seed_of("autumn", "ada"), grade_points.seed_of("autumn", "ada"))
        self.assertEqual(grade_points.seed_of("autumn", "ada"), 182078479658016)
        pairs = (("autumn", "ada"), ("autumn", "ben"), ("spring", "ada"), ("autumna", "da"), ("", "ada"))
        self.assertEqual(len({grade_points.seed_of(*pair) for pair in pairs}), 5)


class Documents(CourseFolder):
    def report(self, *grades):
        return grade_formats.Report("autumn", sorted({one.student for one in grades}), list(grades))

    def test_json(self):
        grades = (graded(self.lesson, ["right", "wrong"]), graded(self.lesson, ["right"] * 2, "right", student="ben"))
        text = grade_formats.as_json(self.report(*grades))
        ada, ben = json.loads(text)["students"]
        self.assertEqual((ada["name"], ada["points"], ben["points"], ben["max_points"]), ("ada", 50, 100, 100))
        step = ada["lessons"][0]["steps"][1]
        self.assertEqual((step["state"], step["points"], step["failed_test"]), ("wrong", 0, "a test"))
        self.assertEqual(step["message"], "out[0] ?[31m at 0x...")
        self.assertEqual(ada["lessons"][0]["repeat"], "FA_SEED=7 ./course check 01")
        self.assertNotIn(str(self.root), text)

    def test_junit(self):
        missing = grade_points.without_tests("ben", self.lesson, NOT_GRADED, "no compiler", 1)
        root = ElementTree.fromstring(
            grade_formats.junit(self.report(graded(self.lesson, ["right", "wrong"]), missing))
        )
        ada, ben = root.findall("testsuite")
        self.assertEqual((ada.get("name"), ada.get("tests"), ada.get("failures")), (f"ada {NAME}", "2", "1"))
        self.assertEqual((ben.get("failures"), ben.get("errors")), ("0", "2"))
        self.assertIn("out[0] ?[31m", ada.find("testcase/failure").text)
        self.assertEqual(len(ben.findall("testcase/error")), 2)

    def test_gradescope(self):
        text = grade_formats.gradescope(self.report(graded(self.lesson, ["right", "wrong"])))
        document = json.loads(text)
        self.assertEqual((document["score"], [one["score"] for one in document["tests"]]), (50, [50, 0]))
        self.assertEqual({one["visibility"] for one in document["tests"]}, {"visible"})
        self.assertEqual(document["tests"][0]["max_score"], 50)

    def test_the_table_names_the_step_and_what_is_wrong(self):
        grade_formats.show(self.report(graded(self.lesson, ["right", "wrong"])))
        for words in (
            "ada  50 of 100 points",
            "step 2, Softmax: wrong, 1 of 2 tests passed",
            "FA_SEED=7 ./course check 01",
        ):
            self.assertIn(words, self.output())
        self.assertNotIn("\x1b", self.output())

    def test_every_format_says_how_many_tests_were_not_run_and_why(self):
        stop = 'the program was ended after 60 s, in "rows sum to 1"'
        for message in ("sums differ", "the program was ended after 60 s"):
            step = StepGrade(1, "Scores", "wrong", 7, 1, "sums are right", message, 5, stop)
            one = LessonGrade("ada", self.lesson, "wrong", (step,), 7)
            grade_formats.show(self.report(one))
            gradescope = json.loads(grade_formats.gradescope(self.report(one)))["tests"][0]["output"]
            junit = ElementTree.fromstring(grade_formats.junit(self.report(one))).find(".//failure").text
            for text in (self.sentences(), gradescope, junit):
                self.assertIn("1 of 7 tests passed, 5 not run", text)
                self.assertEqual(text.count("ended after 60 s"), 1)
            told = json.loads(grade_formats.as_json(self.report(one)))["students"][0]["lessons"][0]["steps"][0]
            self.assertEqual((told["not_run"], told["stop"]), (5, stop))
            self.said.clear()

    def test_to_repeat_takes_as_many_random_cases(self):
        one = LessonGrade("ada", self.lesson, "right", (), 7, random_cases=300)
        self.assertEqual(grade_formats.repeat(one), "FA_RANDOM_CASES=300 FA_SEED=7 ./course check 01")


class Command(CourseFolder):
    def setUp(self):
        super().setUp()
        self.write(f"class/ada/{FILE}", "text")
        self.states = ["right", "wrong"]

    def course(self, *arguments):
        def graded_all(grader, submissions):
            return [graded(one.lesson, self.states, self.word, student=one.student.name) for one in submissions]

        with mock.patch("course.screen.setup"), mock.patch.object(grade.Grader, "grade", graded_all):
            return cli.run(["grade", *map(str, arguments)], self.root)

    word = "wrong"

    def test_done_is_0_whatever_the_points_and_not_graded_is_3(self):
        self.assertEqual(self.course(self.root / "class"), 0)
        self.word = NOT_GRADED
        self.assertEqual(self.course(self.root / "class", "--lesson", "1"), 3)

    def test_files_are_written(self):
        files = {name: self.root / name for name in ("junit", "gradescope")}
        flags = [word for name, file in files.items() for word in (f"--{name}", file)]
        self.assertEqual(self.course(self.root / "class/ada", *flags), 0)
        self.assertIn("<testsuites", files["junit"].read_text())
        self.assertEqual(json.loads(files["gradescope"].read_text())["score"], 50)

    def test_what_is_not_understood_is_said_before_anything_is_built(self):
        self.write(f"class/ben/{FILE}", "text")
        wrong = (
            (["--limit", "0"], "--limit 0"),
            (["--memory", "10"], "--memory 10"),
            (["--junit", self.root], "--junit"),
            (["--junit", self.root / "none/file"], "--junit"),
            (["--gradescope", self.root / "file"], "one student, and there are 2"),
            (["--junit", self.root / "file", "--gradescope", self.root / "file"], "two files"),
            (["--random-cases", "-1"], "--random-cases -1"),
            (["--lesson", "9"], "no lesson '9'"),
        )
        for arguments, said in wrong:
            with self.subTest(arguments), self.assertRaisesRegex(UsageError, said):
                self.course(self.root / "class", *arguments)
        self.assertFalse(Path(self.root / "file").exists())

    def test_a_file_that_cannot_be_written_is_refused_first_and_one_that_can_stays_until_the_end(self):
        place = self.root / "socket"  # which nobody can open, root included
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(place))
            with self.assertRaisesRegex(UsageError, "socket: cannot be written to"):
                self.course(self.root / "class", "--junit", place)
        self.write("old.xml", "old")
        with self.assertRaisesRegex(UsageError, "--limit"):
            self.course(self.root / "class", "--junit", self.root / "old.xml", "--limit", "0")
        self.assertEqual((self.root / "old.xml").read_text(), "old")

    def test_a_file_that_cannot_be_written_in_the_end_is_named_and_costs_no_grades(self):
        with self.assertRaisesRegex(InternalError, "/dev/full could not be written"):
            self.course(self.root / "class", "--junit", "/dev/full")
        self.assertIn("ada  50 of 100 points", self.output())

    @unittest.skipIf(os.geteuid() == 0, "root may write to every file")
    def test_a_file_or_a_folder_that_is_read_only_is_refused(self):
        self.write("old.xml", "old")
        (self.root / "old.xml").chmod(0o444)
        (self.root / "folder").mkdir(0o555)
        for file in ("old.xml", "folder/new.xml"):
            with self.subTest(file), self.assertRaisesRegex(UsageError, "written to"):
                self.course(self.root / "class", "--junit", self.root / file)


if __name__ == "__main__":
    screen.setup(plain=True)
    unittest.main()
