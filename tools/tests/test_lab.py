"""The check of the lab: what is quoted of a report, and how far an exercise may be from its solution."""

import unittest
from unittest import mock

from checks import lab
from course import bugs
from course_folder import CourseFolder

SHOWN = """\
bug 01  A sum
    exercises/find_the_bug/01_sum.cu

    This must hold, and does not:
      the sum is right
      HBM: read of x[3], which has 3 elements
        in sum_kernel, block (0, 0, 0), thread (3, 0, 0)
      where n = 3
      the test: lessons/find_the_bug/test.cpp:12

verdict: not found yet  0 of 1 properties right, 1 wrong (0.8 s)
"""
QUOTED = """\
the sum is right
HBM: read of x[3], which has 3 elements
  in sum_kernel, block (0, 0, 0), thread (3, 0, 0)
where n = 3
"""
TOML = """\
title = "Find the bug"
summary = "One kernel."
[[bug]]
file = "01_sum.cu"
title = "A sum"
find = "i < n"
replace = "i <= n"
"""


class Reports(unittest.TestCase):
    def setUp(self):
        self.bug = mock.Mock(called="bug 01", place="01")

    def checked(self, code, shown, recorded):
        file = mock.Mock(exists=lambda: True, read_text=lambda encoding: recorded)
        with (
            mock.patch.object(lab, "call", return_value=mock.Mock(returncode=code, stdout=shown)),
            mock.patch.object(lab, "report_file", return_value=file),
        ):
            return lab.check_report(self.bug).ok

    def test_what_is_recorded_must_be_what_is_shown(self):
        self.assertEqual(lab.quoted(SHOWN), QUOTED)
        self.assertTrue(self.checked(1, SHOWN, QUOTED))
        self.assertFalse(self.checked(1, SHOWN.replace("x[3]", "x[4]"), QUOTED))

    def test_an_exercise_that_passes_or_does_not_compile_is_none(self):
        self.assertFalse(self.checked(0, SHOWN, QUOTED))
        self.assertFalse(self.checked(1, "verdict: does not compile\n", ""))


class Files(CourseFolder):
    def wrong(self, solution, exercise):
        self.write(bugs.CATALOG, TOML)
        self.write("solutions/find_the_bug/01_sum.cu", solution)
        self.write("exercises/find_the_bug/01_sum.cu", exercise)
        with mock.patch.object(lab, "ROOT", self.root):
            return lab.wrong_with(bugs.load(self.root).bugs[0])

    def test_an_exercise_is_its_solution_with_the_fault(self):
        self.assertEqual(self.wrong("if (i < n) sum();\n", "if (i <= n) sum();\n"), "")
        self.assertIn("--reset makes it", self.wrong("if (i < n) sum();\n", "if (i <= n) sum(1);\n"))
        self.assertIn("occurs 0 times", self.wrong("if (i != n) sum();\n", "if (i <= n) sum();\n"))

    def test_lines_that_moved_are_no_difference(self):
        self.assertEqual(lab.differences("a\n  b\nc\n", "a\nb\nc\n"), (1, 1))
        self.assertEqual(lab.differences("a\nc\n", "a\nb\nc\n"), (0, 1))


if __name__ == "__main__":
    unittest.main()
