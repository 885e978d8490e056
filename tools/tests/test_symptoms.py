"""Which cataloged mistakes explain what the tests tell; how the record of them is written, read and checked."""

import contextlib
import io
import json
import subprocess
import unittest
from unittest import mock

from checks import mistakes
from checks import symptoms as record
from checks.common import Lesson, Result
from course import lessons, symptoms
from course.symptoms import Symptoms
from course_folder import NAME, TOML, CourseFolder

OFF_BY = "lse[i=0]: expected -4, got {} (1 of 1 values differ)"


class Matching(unittest.TestCase):
    """Tests a, b, c and d; each mistake with those that it breaks and the value that the first of them gets."""

    def matching(self, right, wrong, got="2", **catalog):
        mistakes = [
            lessons.Mistake(name, "", "", Symptoms(tuple(broken), OFF_BY.format(value)))
            for name, (broken, value) in catalog.items()
        ]
        found, exact = symptoms.matching(mistakes, set(right), dict.fromkeys(wrong, OFF_BY.format(got)))
        return [one.title for one in found], exact

    def test_one_that_breaks_what_is_wrong_here(self):
        self.assertEqual(self.matching("a", "bc", x=("b", "2"), y=("bc", "2"), z=("abc", "2")), (["y"], True))

    def test_what_a_mistake_breaks_must_not_be_right(self):
        self.assertEqual(self.matching("a", "b", x=("ab", "2")), ([], False))

    def test_of_a_test_that_did_not_run_nothing_is_known(self):
        self.assertEqual(self.matching("", "a", x=("ab", "2")), (["x"], True))

    def test_the_first_that_is_wrong_must_be_among_them(self):
        self.assertEqual(self.matching("", "ab", x=("b", "2")), ([], False))

    def test_what_another_test_said_first_is_not_compared(self):
        self.assertEqual(self.matching("", "b", x=("ab", "2")), (["x"], False))

    def test_another_value_only_comes_near(self):
        self.assertEqual(self.matching("", "a", "3", x=("a", "2")), (["x"], False))

    def test_another_kind_does_not(self):
        self.assertEqual(self.matching("", "a", "nan", x=("a", "2")), ([], False))

    def test_another_number_of_bytes_does_not(self):
        said = "q, read: expected 8 bytes, got {}"
        known = lessons.Mistake("x", "", "", Symptoms(("a", "b"), said.format(4), {"b": said.format(2)}))
        for first, second, exact in ((4, 2, True), (4, 3, False), (5, 2, False)):
            wrong = {"a": said.format(first), "b": said.format(second)}
            self.assertEqual(symptoms.matching([known], set(), wrong), ([known] if exact else [], exact))

    def test_what_a_test_says_besides_counts_too(self):
        said = "q, read: expected 8 bytes, got {}"
        known = lessons.Mistake("x", "", "", Symptoms(("a",), said.format(4), {"a": said.format(2)}))
        for also, exact in ((2, True), (3, False)):
            more = {"a": [said.format(4), said.format(also)]}
            found = symptoms.matching([known], set(), {"a": said.format(4)}, more)
            self.assertEqual(found, ([known] if exact else [], exact))

    def test_what_leaves_other_tests_unexplained_comes_near_in_the_same_words_only(self):
        self.assertEqual(self.matching("", "abcd", x=("ab", "2"), y=("abc", "2")), (["y"], False))
        self.assertEqual(self.matching("", "abcd", x=("ab", "2"), y=("abc", "3")), (["x"], False))

    def test_of_the_emulator_the_element_counts_and_a_line_does_not(self):
        read = "shared memory: read of {}, which nothing wrote yet"

        def matching(known, said):
            known, said = read.format(known), read.format(said)
            mistake = lessons.Mistake("x", "", "", Symptoms(("a",), known))
            found, exact = symptoms.matching([mistake], set(), {"a": said})
            return len(found), exact

        self.assertEqual(matching("q_tile[0][1]", "q_tile[0][1]"), (1, True))
        self.assertEqual(matching("q_tile[0][1]", "q_tile[0][3]"), (1, False))
        self.assertEqual(matching("q_tile[0][1]", "k_tile[0][1]"), (0, False))
        array = "the shared array of attention_forward.cu:{}"
        self.assertEqual(matching(array.format(44), array.format(61)), (1, True))

    def test_where_many_are_equally_near_none_is_named(self):
        many = {f"mistake_{number}": ("ab", str(number)) for number in range(symptoms.MOST_NEAR + 1)}
        self.assertEqual(self.matching("", "ab", "7.5", **many), ([], False))
        self.assertEqual(self.matching("", "ab", "0", **many), (["mistake_0"], True))

    def test_another_test_may_tell_alike_mistakes_apart(self):
        x, y = (
            lessons.Mistake(name, "", "", Symptoms(("a", "b"), OFF_BY.format(2), {"b": OFF_BY.format(value)}))
            for name, value in (("x", 3), ("y", 4))
        )
        for value, expected in ((4, [y]), (5, [])):
            wrong = {"a": OFF_BY.format(2), "b": OFF_BY.format(value)}
            found, exact = symptoms.matching([x, y], set(), wrong)
            self.assertEqual(found if exact else [], expected)
        self.assertEqual(symptoms.matching([x, y], set(), {"a": OFF_BY.format(2)}), ([x, y], True))

    def test_a_record_is_unpacked(self):
        recorded = {"tests": ["a", "b", "c"], "mistakes": {"x": "x.x lse: expected 1, got 2", "y": ".x. q"}}
        x, y = Symptoms(("a", "c"), "lse: expected 1, got 2"), Symptoms(("b",), "q")
        self.assertEqual(symptoms.unpack(recorded), {"x": x, "y": y})
        recorded["apart"] = {"x": {"c": "out"}}
        self.assertEqual(symptoms.unpack(recorded)["x"].also, {"c": "out"})


class Catalog(unittest.TestCase):
    """The recorded files of all lessons, fed back: what a student is told who makes one of these mistakes."""

    def matching(self, catalog, one, tests):
        wrong = dict.fromkeys(one.symptoms.broken, "")
        wrong |= one.symptoms.also | {one.symptoms.first: one.symptoms.said}
        more = {test: [wrong[test], said] for test, said in one.symptoms.also.items()}
        return symptoms.matching(catalog, {*tests} - {*wrong}, wrong, more)

    def each(self):
        for lesson in lessons.load():
            tests = json.loads((lesson.folder / lessons.SYMPTOMS).read_text(encoding="utf-8"))["tests"]
            self.assertEqual([one.title for one in lesson.mistakes if one.symptoms is None], [])
            for one in lesson.mistakes:
                yield lesson, one, tests

    def test_each_mistake_is_named(self):
        for lesson, one, tests in self.each():
            with self.subTest(f"{lesson.number} {one.title}"):
                found, exact = self.matching(lesson.mistakes, one, tests)
                self.assertTrue(exact)
                self.assertIn(one, found)

    def test_where_it_is_not_in_the_catalog_none_is_blamed_that_fails_otherwise(self):
        for lesson, one, tests in self.each():
            with self.subTest(f"{lesson.number} {one.title}"):
                others = [other for other in lesson.mistakes if other is not one]
                found, exact = self.matching(others, one, tests)
                for blamed in found if exact else []:
                    self.assertTrue(symptoms.alike(blamed.symptoms, one.symptoms))

    def test_each_is_caught_by_the_test_that_is_meant_to(self):
        for lesson, one, _ in self.each():
            with self.subTest(f"{lesson.number} {one.title}"):
                self.assertIn(one.caught_by, one.symptoms.broken)


def report(*broken, said="p: expected 1, got 2"):
    """Of the tests a and b."""
    failure = f'<Failure filename="t.cpp" line="1">{said}</Failure>'
    cases = (
        f'<TestCase name="{test}" tags="[step2]" filename="t.cpp" line="1">{failure if test in broken else ""}'
        f'<OverallResult success="{"false" if test in broken else "true"}"/></TestCase>'
        for test in "ab"
    )
    return f"<Catch2TestRun>{''.join(cases)}</Catch2TestRun>"


class Recorded(CourseFolder):
    def setUp(self):
        super().setUp()
        self.catalog = [{"name": "from_zero", "caught_by": "b"}]
        self.of_checks = Lesson(NAME, {"mistake": self.catalog})
        for where in ("checks.common.ROOT", "checks.mistakes.ROOT"):
            self.enterContext(mock.patch(where, self.root))
        self.file = self.root / "lessons" / NAME / lessons.SYMPTOMS

    def write_record(self, **reports):
        return record.write(self.of_checks, reports)

    def test_it_is_written_and_the_runner_reads_it(self):
        self.assertTrue(self.write_record(from_zero=report("a", "b")))
        expected = {"tests": ["a", "b"], "mistakes": {"from_zero": "xx p: expected 1, got 2"}}
        self.assertEqual(json.loads(self.file.read_text()), expected)
        self.write(f"lessons/{NAME}/lesson.toml", TOML.replace("[[mistake]]", '[[mistake]]\nname = "from_zero"'))
        self.assertEqual(lessons.load(self.root)[0].mistakes[0].symptoms, Symptoms(("a", "b"), "p: expected 1, got 2"))

    def test_what_says_the_same_changes_nothing(self):
        self.write_record(from_zero=report("b", said="HBM: s[1] is touched by two blocks"))
        self.assertFalse(self.write_record(from_zero=report("b", said="HBM: read of s[9], which has 9 elements")))
        self.assertTrue(self.write_record(from_zero=report("a", "b", said="HBM: s[1] is touched by two blocks")))
        self.assertTrue(self.write_record(from_zero=report("a", "b")))
        self.assertFalse(self.write_record(from_zero=report("a", "b", said="p: expected 1, got 2.00001")))

    def test_what_tells_alike_mistakes_apart_is_recorded(self):
        said = "p: expected 1, got 2"
        other = report("a", "b").replace(said, "p: expected 1, got 3")
        first_alike = report("a", "b").replace(said, "p: expected 1, got 3").replace("got 3", "got 2", 1)
        self.write_record(x=report("a", "b"), y=first_alike, z=other)
        apart = {"x": {"b": said}, "y": {"b": "p: expected 1, got 3"}}
        self.assertEqual(json.loads(self.file.read_text())["apart"], apart)
        self.assertEqual(record.groups(record.recorded(self.of_checks)), [])
        self.write_record(x=report("a", "b"), y=report("a", "b"))
        self.assertEqual(record.groups(record.recorded(self.of_checks)), [["x", "y"]])

    def test_of_a_number_of_bytes_what_other_tests_say_is_recorded_too(self):
        said = "read: expected 8 bytes, got {}"
        one = report("a", "b", said=said.format(9)).replace("got 9", "got 4", 1)
        self.write_record(x=one)
        self.assertEqual(json.loads(self.file.read_text())["apart"], {"x": {"b": said.format(9)}})
        twice = report("b", said=said.format(4)).replace(
            "</Failure>", f'</Failure><Failure filename="t.cpp" line="2">{said.format(9)}</Failure>'
        )
        self.write_record(x=twice)
        self.assertEqual(json.loads(self.file.read_text())["apart"], {"x": {"b": said.format(9)}})
        second = report("a", "b", said=said.format(9)).replace(said.format(9), "p: expected 1, got 2", 1)
        for alike in (report("a", "b", said=said.format(9)), second, report("b", said=said.format(9))):
            self.write_record(x=alike)
            self.assertNotIn("apart", json.loads(self.file.read_text()))

    def judged(self, seen=""):
        file = mistakes.report_of(self.of_checks, self.catalog[0])
        file.parent.mkdir(parents=True, exist_ok=True)

        def run(*command, **_):
            self.ran = command[-1]
            file.write_text(seen)
            return mock.Mock(returncode=1, stdout="implementation: mistake from_zero\n")

        with mock.patch.object(mistakes, "call", run):
            return mistakes.judge(self.of_checks, self.catalog[0])

    def test_the_check_runs_the_first_that_fails_and_the_one_that_is_meant_to(self):
        for broken, ran in (("ab", "a,b"), ("b", "b")):
            self.write_record(from_zero=report(*broken))
            self.assertTrue(self.judged(report(*broken)).ok)
            self.assertEqual(self.ran, ran)

    def test_the_check_finds_what_is_not_as_recorded(self):
        self.assertIn("not recorded", self.judged().detail)
        self.write_record(from_zero=report("a", "b"))
        self.assertIn("'b'", self.judged(report("a")).detail)
        self.assertIn("'a'", self.judged(report("b")).detail)
        self.assertIn("got 3", self.judged(report("a", "b", said="p: expected 1, got 3")).detail)

    def test_a_mistake_that_never_ends_is_not_caught(self):
        self.write_record(from_zero=report("a", "b"))
        late = subprocess.TimeoutExpired("test", mistakes.TIME_LIMIT)
        with mock.patch.object(mistakes, "call", side_effect=late):
            self.assertIn("does not end", mistakes.judge(self.of_checks, self.catalog[0]).detail)

    def test_a_lesson_is_recorded_whatever_comes_of_the_others(self):
        others = [Lesson(name, {"mistake": self.catalog}) for name in ("02_bad", "03_good")]
        for lesson in (others[1], self.of_checks):
            file = mistakes.report_of(lesson, self.catalog[0])
            for path in (file, lesson.folder / "x"):
                path.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(report("b"))
        results = {"02": [Result("02 from_zero", False, "survives")]}
        with (
            mock.patch.object(mistakes, "lessons", lambda: [self.of_checks, *others]),
            mock.patch.object(mistakes, "judged", lambda _, number: results.get(number, [])),
            contextlib.redirect_stdout(io.StringIO()) as printed,
        ):
            self.assertEqual(mistakes.main(["record"]), 1)
            self.assertEqual([record.packed(one)["tests"] for one in (self.of_checks, others[1])], [["a", "b"]] * 2)
            self.assertEqual(record.packed(others[0]), {})
            self.assertEqual([mistakes.main(["record", number]) for number in ("02", "03")], [1, 0])
        self.assertIn("02_bad: not recorded", printed.getvalue())

    def test_the_check_finds_a_test_that_is_not_recorded(self):
        self.write_record(from_zero=report("a", "b"))
        for names, good in ((["a", "b"], True), (["b", "a"], False), (["a", "b", "c"], False), ([], False)):
            listed = "".join(f"<TestCase><Name>{name}</Name></TestCase>" for name in names)
            with mock.patch.object(mistakes, "call", lambda *_, out=listed: mock.Mock(stdout=out)):
                self.assertEqual(mistakes.all_tests_recorded(self.of_checks).ok, good)


if __name__ == "__main__":
    unittest.main()
