"""The demonstration of the online softmax: its flags, its arithmetic, what it concludes."""

import math
import unittest
from unittest import mock

from course import demo_invariant, demo_screen
from course.errors import UsageError
from course_folder import CourseFolder

NAN, INF = math.nan, math.inf


class Numbers(unittest.TestCase):
    def test_flags(self):
        self.assertEqual(
            demo_invariant.parse(["--scores", "-1,2", "--values=-3,4", "--tile", "1"]), ("-1.0,2.0", "-3.0,4.0", 1)
        )
        self.assertEqual(
            demo_invariant.parse(["--scores", "-inf,nan,-1e4", "--values", "1,2,3"])[0], "-inf,nan,-10000.0"
        )

    def test_bad_flags_name_the_flag_and_the_value(self):
        for arguments in (
            ["--scores", "1,x,3"],
            ["--scores", ""],
            ["--scores", "1,,3"],
            ["--scores", "1,2", "--values", "1"],
            ["--values", "1,inf,2"],
            ["--values", "1,3e38,-3e38"],
            ["--tile", "0"],
            ["--tile", "-1"],
            ["--tile", "1.5"],
            ["--tile", "²"],
        ):
            with self.subTest(arguments), self.assertRaises(UsageError) as caught:
                demo_invariant.parse(arguments)
            if len(arguments) == 2:
                self.assertIn(f"{arguments[0]} '{arguments[1]}'", caught.exception.message)

    def test_difference(self):
        state = {"m": 2.0, "l": 1.5, "u": 0.0, "output": 0.0}

        def difference(one, other):
            return demo_invariant.difference(one, other, 4.0)

        self.assertEqual(difference(state, dict(state)), 0)
        self.assertAlmostEqual(difference(state | {"l": 1.5 * (1 + 1e-9)}, state), 1e-9, 12)
        self.assertAlmostEqual(difference(state | {"u": 6e-9}, state), 1e-9, 12)  # a sum that cancels
        self.assertEqual(difference(state | {"l": NAN}, state), INF)
        self.assertEqual(difference(state | {"l": NAN}, state | {"l": NAN}), 0)
        self.assertEqual(difference(state | {"m": -INF}, state), INF)

    def test_values_that_are_not_given_are_odd_numbers(self):
        self.assertEqual(demo_invariant.parse(["--scores", "4,3,2,1"])[1], "1.0,3.0,5.0,7.0")
        with self.assertRaises(UsageError):
            demo_invariant.parse(["--values", "1,3"])  # the default row has three scores


def row(m, *others, rescale=None, **wrong):
    """A row of the table, right but for what is said to be wrong."""
    state = dict(zip(demo_invariant.QUANTITIES, (m, *others), strict=True))
    exact = {f"{name}_exact": value for name, value in state.items()}
    return {"tile": [m], "keys_seen": 2, "rescale": rescale} | state | exact | wrong


class Table(CourseFolder):
    def shown(self, *orders):
        self.said.clear()
        named = [{"name": "an order", "rows": rows} for rows in orders]
        code = demo_invariant.show(named, 3.0)
        self.assertLessEqual(self.widest(), 80)
        return code, self.sentences()

    def test_a_broken_invariant_is_told_and_is_not_success(self):
        right = row(2, 1.4, 2, 1.5)
        code, output = self.shown([right], [right])
        self.assertEqual(code, 0)
        self.assertIn("held in every row, and both orders agree (relative differences below 9.6e-07, as", output)
        code, output = self.shown([row(2, 1.4, 2, 1.5, l=1.3)], [right])
        self.assertEqual(code, 1)
        self.assertIn("did NOT hold", output)
        code, output = self.shown([right], [row("-inf", 1.4, 2, 1.5)])
        self.assertEqual(code, 1)
        self.assertIn("the orders do NOT agree", output)

    def test_the_maximum_may_move_from_minus_infinity(self):
        empty, later = row("-inf", 0, 0, 0), row(3, 1, 3, 3, rescale=0.0)
        _, output = self.shown([empty, later], [later, row(3, 1, 3, 3, rescale=1.0)])
        self.assertEqual(output.count("→ ["), 1)
        self.assertIn("Where m was −inf, the factor is 0", output)
        _, output = self.shown([later], [later])
        self.assertNotIn("−inf", output)
        self.assertIn("nothing moves", output)

    def test_nan_is_no_agreement_of_numbers(self):
        nan = row(1, "nan", "nan", "nan")
        code, output = self.shown([nan], [row(0, 1, 1, 1), nan])
        self.assertEqual(code, 0)
        self.assertIn("NaN reached the state in both orders, as it must.", output)
        self.assertNotIn("agree", output)
        self.assertEqual(self.shown([nan], [row(1, 1, 1, 1)])[0], 1)

    def test_a_narrow_terminal_gets_fewer_decimals(self):
        rows = [row(2, 1.4, 2, 1.5, rescale=0.5)]
        for width, shown in ((60, "1.4000"), (75, "1.4000"), (76, "1.400000")):
            with mock.patch.object(demo_screen, "width", return_value=width):
                _, output = self.shown(rows)
            self.assertIn(f" {shown} ", output)
            self.assertLessEqual(self.widest(), width)


if __name__ == "__main__":
    unittest.main()
