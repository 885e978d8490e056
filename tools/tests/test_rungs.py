"""The ladder of lesson 07: each rung is an edit of the one before it."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from checks import rungs
from checks.common import Lesson

RUNGS = [
    {"name": "plain", "edits": [{"find": "padding = 8", "replace": "padding = 0"}]},
    {"name": "slow", "edits": [{"find": "copy(16)", "replace": "copy(2)"}, {"find": "copy(2)", "replace": "load(2)"}]},
]
SOLUTION = "padding = 8; copy(16);"


class Sources(unittest.TestCase):
    def test_each_rung_is_an_edit_of_the_one_before_it(self):
        self.assertEqual(
            rungs.sources(RUNGS, SOLUTION),
            {"plain": "padding = 0; copy(16);", "slow": "padding = 0; load(2);"},
        )

    def test_an_edit_that_is_not_found_once_is_refused(self):
        for solution, times in (("padding = 8", 0), (f"{SOLUTION} copy(16)", 2)):
            with (
                self.subTest(times),
                self.assertRaisesRegex(ValueError, rf"rung slow: 'copy\(16\)' occurs {times} times"),
            ):
                rungs.sources(RUNGS, solution)

    def test_a_lesson_without_a_ladder_has_no_rungs(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(rungs.ladder(Path(folder))["rung"], [])


class Judged(unittest.TestCase):
    tests = ["right, in every row", "for long rows"]

    def ok(self, output: str, code: int = 0) -> bool:
        ran = mock.Mock(returncode=code, stdout=output)
        with mock.patch.object(rungs, "call", return_value=ran) as call:
            result = rungs.judge(Lesson("07_x", {}), RUNGS[0], self.tests)
        self.assertEqual(call.call_args.args[1], r"right\, in every row,for long rows")
        return result.ok

    def test_the_binary_must_say_which_rung_it_is_and_pass_every_test_that_is_named(self):
        said, passed = "implementation: rung plain\n", "All tests passed (9 assertions in 2 test cases)\n"
        self.assertTrue(self.ok(said + passed))
        self.assertFalse(self.ok(passed))
        self.assertFalse(self.ok(said + passed.replace("in 2", "in 1")))
        self.assertFalse(self.ok(said + passed, code=1))


if __name__ == "__main__":
    sys.exit(unittest.main())
