"""Wrong edits beside those of the catalog: none is taken for a cataloged mistake that it is not."""

import json
import unittest
from unittest import mock

from checks import neighbors
from course import catch_xml, diagnosis, lessons

LEAST, LEAST_LESSONS = 9, 5


class Neighbors(unittest.TestCase):
    """By what is recorded of real runs; nothing is built."""

    def setUp(self):
        self.lessons = {one.number: one for one in lessons.load()}
        self.record = neighbors.recorded()

    def each(self):
        for one in neighbors.catalog():
            with self.subTest(one.key):
                yield one, self.lessons[one.lesson]

    def blamed(self, one, lesson, record=None):
        known, exact = diagnosis.explaining(lesson, neighbors.told(record or self.record, one))
        return [mistake.name for mistake in known] if exact else []

    def test_none_is_blamed_that_it_is_not(self):
        for one, lesson in self.each():
            self.assertEqual(self.blamed(one, lesson), list(one.same_as))

    def test_they_are_edits_of_the_solution_beside_a_mistake_and_no_mistakes(self):
        for one, lesson in self.each():
            self.assertNotEqual(
                neighbors.edited(one, lesson), (lesson.root / lesson.solution).read_text(encoding="utf-8")
            )
            self.assertIn(one.beside, [mistake.name for mistake in lesson.mistakes])
            self.assertNotIn(one.name, [mistake.name for mistake in lesson.mistakes])

    def test_the_record_is_of_these_and_of_the_tests_that_the_lessons_have(self):
        again = "run: python -m checks.neighbors record (in tools/)"
        self.assertEqual([*self.record["failures"]], [one.key for one in neighbors.catalog()], again)
        for one, lesson in self.each():
            tests = json.loads((lesson.folder / lessons.SYMPTOMS).read_text(encoding="utf-8"))["tests"]
            self.assertEqual(self.record["tests"][one.lesson], tests, again)
            self.assertTrue({*self.record["failures"][one.key]} <= {*tests}, again)
            self.assertTrue(self.record["failures"][one.key], again)

    def test_there_are_enough(self):
        catalog = neighbors.catalog()
        self.assertGreaterEqual(len([one for one in catalog if not one.same_as]), LEAST)
        self.assertGreaterEqual(len({one.lesson for one in catalog}), LEAST_LESSONS)

    def test_what_fails_as_a_mistake_does_is_blamed(self):
        """Or else nothing here could fail."""
        for one, lesson in self.each():
            beside = next(mistake for mistake in lesson.mistakes if mistake.name == one.beside)
            failures = dict.fromkeys(beside.symptoms.broken, {"said": "out"})
            failures |= {test: {"said": said, "last": said} for test, said in beside.symptoms.also.items()}
            failures[beside.symptoms.first] = {**failures[beside.symptoms.first], "said": beside.symptoms.said}
            record = {"tests": self.record["tests"], "failures": {one.key: failures}}
            self.assertIn(one.beside, self.blamed(one, lesson, record))


class Recording(unittest.TestCase):
    AGAIN = '<Failure filename="t.cpp" line="3">out: expected 1, got 2</Failure>'
    XML = (
        '<Catch2TestRun><TestCase name="a" tags="[step1]" filename="t.cpp" line="1"><OverallResult success="true"/></TestCase>'
        '<TestCase name="b" tags="[step2]" filename="t.cpp" line="2"><Exception filename="t.cpp" line="2">one\ntwo\nthree</Exception>'
        '<OverallResult success="false"/></TestCase></Catch2TestRun>'
    )

    def test_what_is_recorded_is_what_the_runner_reads(self):
        one = neighbors.Neighbor("01", "x", "y", "", "")
        tests, failures = neighbors.packed(catch_xml.parse(self.XML))
        self.assertEqual(failures, {"b": {"said": "an exception was thrown:", "thrown": True}})
        first, second = neighbors.told({"tests": {"01": tests}, "failures": {one.key: failures}}, one)
        self.assertEqual((first.name, first.state, second.name, second.state), ("a", "right", "b", "wrong"))
        self.assertTrue(second.failure.thrown)
        twice = self.XML.replace('<OverallResult success="false"/>', f'{self.AGAIN}<OverallResult success="false"/>')
        tests, failures = neighbors.packed(catch_xml.parse(twice))
        self.assertEqual(failures["b"]["last"], "out: expected 1, got 2")
        _, second = neighbors.told({"tests": {"01": tests}, "failures": {one.key: failures}}, one)
        self.assertEqual([failure.message for failure in second.failures][1:], ["out: expected 1, got 2"])

    def test_a_command_line_that_is_none(self):
        with mock.patch.object(neighbors, "record") as record:
            for arguments in ([], ["record", "99"], ["write"], ["record", "01", "02"]):
                self.assertIn("usage", neighbors.main(arguments))
            record.assert_not_called()
            self.assertEqual(neighbors.main(["record", "06"]), 0)


if __name__ == "__main__":
    unittest.main()
