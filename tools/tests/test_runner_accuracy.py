"""The demonstration of the accuracy in half precision."""

import unittest

from course import demo_accuracy
from course.errors import UsageError
from course_folder import CourseFolder


def row(wmma=3e-4, mma=3e-4, **more):
    errors = {"standard": 8e-4, "wmma": wmma, "mma": mma}
    return {
        "format": "fp16",
        "D": 64,
        "inputs": "normal",
        "causal": False,
        "floor": 1e-5,
        **{kernel: {"largest": error, "rms": 1e-5} for kernel, error in errors.items()},
        **more,
    }


class Accuracy(CourseFolder):
    def show(self, *rows):
        return demo_accuracy.show({"heads": 2, "N": 127, "rows": list(rows)})

    def test_each_row_has_the_errors_of_all_kernels(self):
        self.assertEqual(self.show(row(), row(2.5e-4, 1.5e-3, format="bfloat16", D=128, causal=True)), 0)
        lines = self.output().splitlines()
        self.assertIn("2 heads, N = 127", lines[0])
        (line,) = [line for line in lines if line.startswith("bfloat16")]
        self.assertEqual(line.split()[:4], ["bfloat16", "128", "normal,", "causal"])
        self.assertEqual(line.split()[4:], ["8.0e-04", "1.0e-05", "2.5e-04", "1.0e-05", "1.5e-03", "1.0e-05"])

    def test_an_error_that_is_too_large_is_told(self):
        for wrong in (row(mma=1.7e-3), row(wmma="nan"), row() | {"wmma": {"largest": 0.0, "rms": 1e-4}}):
            self.assertEqual(self.show(row(), wrong), 1)
            self.assertIn("1 of 2 rows", self.output())

    def test_twice_as_large_and_the_floor_is_allowed(self):
        self.assertEqual(self.show(row(wmma=1.605e-3)), 0)

    def test_it_takes_no_flags(self):
        with self.assertRaises(UsageError):
            demo_accuracy.main(["--N", "64"])


if __name__ == "__main__":
    unittest.main()
