"""The table of a benchmark's results."""

from unittest import mock

from course import bench_table, screen
from course_folder import CourseFolder


def run(name, time=2.0, **more):
    return {"name": name, "run_name": name, "run_type": "iteration", "real_time": time, "time_unit": "ms", **more}


def counted(name, read, formula=None):
    counters = {"read_bytes": read, "written_bytes": 64, "read_sectors": read / 16, "written_sectors": 2}
    formulas = {"formula_read_bytes": formula or read, "formula_written_bytes": 64}
    return run(name, **counters, **formulas, scratch_bytes=512, Br=32, Bc=8)


class Table(CourseFolder):
    def shown(self, *runs, width=100):
        self.said.clear()
        with mock.patch.object(screen, "width", lambda: width):
            bench_table.show(list(runs))
        return self.output().splitlines()

    def test_a_block_for_each_benchmark_and_a_row_for_each_size(self):
        lines = self.shown(counted("v1/N:64/iterations:1", 640), counted("v1/N:9/iterations:1", 6400, 1))
        self.assertEqual(
            lines,
            [
                "                  read  written  scratch    as by  sectors",
                "           time  bytes    bytes    bytes  formula     used  tiles",
                "v1",
                "  N:64  2.00 ms    640       64      512      yes      52%   32×8",
                "  N:9   2.00 ms  6,400       64      512       NO      50%   32×8",
            ],
        )

    def test_what_does_not_fit_is_left_out_from_the_end(self):
        for width in (20, 30, 45, 60, 80):
            lines = self.shown(counted("v1/N:64", 1e9), width=width)
            self.assertLessEqual(max(map(len, lines)), width)
            self.assertIn("2.00 ms", lines[-1])

    def test_of_repetitions_the_median_and_the_spread(self):
        of_one = {"run_name": "f/N:8/repeats:5", "run_type": "aggregate"}
        lines = self.shown(
            run("f/N:8/repeats:5", 1.0),
            {**run("f/N:8/repeats:5_median", 3.0), **of_one, "aggregate_name": "median"},
            {**run("f/N:8/repeats:5_cv", 0.05), **of_one, "aggregate_name": "cv"},
        )
        self.assertEqual(lines[-1], "  N:8  3.00 ms    5.0%")

    def test_arguments_that_all_have_are_named_once(self):
        lines = self.shown(run("f/N:8/B:1/B:2"), run("f/N:8/B:2/B:2"))
        self.assertEqual(lines[-3:], ["f/N:8", "  B:1/B:2  2.00 ms", "  B:2/B:2  2.00 ms"])

    def test_a_run_that_failed_says_why(self):
        failed = run("f/N:8", 0, error_occurred=True, error_message="does not fit")
        self.assertIn("  N:8  does not fit", self.shown(run("f/N:4"), failed))

    def test_a_benchmark_without_arguments(self):
        self.assertEqual(self.shown(run("f"))[-2:], ["f", "    2.00 ms"])
