"""The page of the mistakes, from a catalog and its record."""

import contextlib
import io
import json
import unittest
from unittest import mock

from checks import museum
from checks.common import Lesson
from course_folder import NAME, CourseFolder

CATALOG = [
    {"name": "no_scale", "title": "The scale | is forgotten", "caught_by": "b", "why": "Right for\nD = 1."},
    {"name": "no_guard", "title": "No guard", "caught_by": "b", "why": "Out of *bounds*."},
    {"name": "no_sum", "title": "No sum", "caught_by": "a", "why": "Too large."},
]
MARKS = {"no_scale": "xx.. s[i=0]: expected 1, got 2 (1 of 3)", "no_guard": ".x.. HBM: read of q[9]"}
MARKS["no_sum"] = MARKS["no_scale"]


class Museum(CourseFolder):
    def setUp(self):
        super().setUp()
        self.lesson = Lesson(NAME, {"title": "Naive attention", "mistake": [dict(one) for one in CATALOG]})
        for where in ("checks.common.ROOT", "checks.museum.ROOT"):
            self.enterContext(mock.patch(where, self.root))
        self.enterContext(mock.patch.object(museum, "lessons", lambda: [self.lesson]))
        record = {"tests": ["a", "b", "c", "d_1"], "mistakes": MARKS}
        self.write(f"lessons/{NAME}/symptoms.json", json.dumps(record))

    def results(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            return list(museum.run()), said.getvalue()

    def test_a_row_tells_what_is_wrong_what_catches_it_and_how_it_fails(self):
        row = r"| **The scale \| is forgotten.** Right for D = 1. | b<br>The first: a: `s[i=0]: expected 1, got 2` | 2 of 4 |"
        page = museum.page([self.lesson])
        self.assertIn(f"\n{row}\n", page)
        self.assertIn("\n| **No guard.** Out of \\*bounds\\*. | b: `HBM: read of q[9]` | 1 of 4 |\n", page)

    def test_tests_that_no_mistake_breaks_are_listed(self):
        self.assertEqual(museum.unbroken(self.lesson), ["c", "d_1"])
        self.assertIn("- 01: c\n- 01: d\\_1\n", museum.page([self.lesson]))

    def test_mistakes_that_look_alike_are_listed(self):
        self.assertEqual(museum.alike(self.lesson), [["no_scale", "no_sum"]])
        self.assertIn("- 01: The scale \\| is forgotten; No sum\n", museum.page([self.lesson]))

    def test_the_counts(self):
        self.assertEqual(museum.counts(self.lesson), (3, 4, 2, 1))
        self.assertIn(
            "| [01 Naive attention](01_naive_attention/README.md) | 3 | 4 | 2 | 1 |", museum.page([self.lesson])
        )

    def test_a_page_that_is_not_current_is_found(self):
        self.write(museum.PAGE, museum.page([self.lesson]))
        found, said = self.results()
        self.assertTrue(all(one.ok for one in found))
        self.assertIn("  01             3      4               2                        1\n", said)
        self.lesson.data["mistake"][0]["why"] = "Wrong."
        page = self.results()[0][-1]
        self.assertFalse(page.ok)
        self.assertIn("Wrong.", page.detail)

    def test_a_mistake_that_is_not_recorded_is_found(self):
        self.lesson.data["mistake"].append({**CATALOG[0], "name": "new"})
        last = self.results()[0][-1]
        self.assertFalse(last.ok)
        self.assertIn("record 01", last.detail)


if __name__ == "__main__":
    unittest.main()
