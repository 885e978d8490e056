"""What a GPU and compute-sanitizer say of the lab's faults is recorded whole or not at all, and the text shows what is recorded."""

import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "plots"))

import data  # noqa: E402
import record_lab  # noqa: E402
import tables_lab  # noqa: E402
from course import bugs  # noqa: E402
from data import PlotError  # noqa: E402

MEMCHECK = "========= Invalid read\n========= ERROR SUMMARY: 32 errors\n"
RACECHECK = "========= RACECHECK SUMMARY: 4 hazards displayed (4 errors, 0 warnings)\n"
FAILED = "test cases: 2 | 1 passed | 1 failed\n"
PASSED = "All tests passed (2 assertions in 2 test cases)\n"


class Reported(unittest.TestCase):
    def test_the_summary_of_each_tool(self):
        self.assertEqual(record_lab.reported(MEMCHECK, ""), 32)
        self.assertEqual(record_lab.reported(RACECHECK, ""), 4)
        self.assertEqual(record_lab.reported("========= ERROR SUMMARY: 1 error\n", ""), 1)

    def test_without_one_summary_nothing_is_known(self):
        for output in ("", "========= Target application returned an error", MEMCHECK + RACECHECK):
            with self.subTest(output), self.assertRaisesRegex(PlotError, "kernel 01.*no summary"):
                record_lab.reported(output, "kernel 01")


class Runs(unittest.TestCase):
    def count(self, *ran: tuple[int, str]) -> int:
        with mock.patch.object(record_lab, "RUNS", len(ran)), mock.patch.object(record_lab, "call", side_effect=ran):
            return record_lab.wrong_runs([], "kernel 01")

    def test_those_in_which_a_test_is_wrong_are_counted(self):
        self.assertEqual(self.count((0, PASSED), (1, FAILED), (0, PASSED)), 1)

    def test_a_run_without_a_gpu_or_that_crashes_is_an_error(self):
        for ran in ((4, "skipped: no CUDA device"), (-11, "")):
            with self.subTest(ran), self.assertRaisesRegex(PlotError, "did not run to their end"):
                self.count((0, PASSED), ran)

    def test_a_program_that_is_missing_or_does_not_end_is_an_error(self):
        with self.assertRaisesRegex(PlotError, "kernel 01: cannot run ./nothing"):
            record_lab.call(["./nothing"], "kernel 01")
        with mock.patch.object(record_lab, "TIME_LIMIT", 0.05), self.assertRaisesRegex(PlotError, "did not end in"):
            record_lab.call(["sleep", "5"], "kernel 01")

    def test_a_kernel_that_somebody_has_mended_is_not_recorded(self):
        bug = bugs.load().bugs[0]
        with mock.patch.object(bugs.Bug, "known_stub", return_value=b"another"):
            with self.assertRaisesRegex(PlotError, "01_output_delta.cu is not as the course gives it"):
                record_lab.measure(bug, Path("build/none"))


class Table(unittest.TestCase):
    def setUp(self):
        self.record = data.load("h200_lab")

    def test_each_kernel_has_a_row(self):
        self.assertEqual(list(self.record["kernels"]), [one.place for one in bugs.load().bugs])
        table = tables_lab.lab(self.record).splitlines()
        self.assertEqual(len([line for line in table if line.startswith("| 0") or line.startswith("| 1")]), 10)

    def test_what_finds_a_fault_is_told_and_counted(self):
        nothing = {"wrong_runs": 0, **dict.fromkeys(tables_lab.TOOLS, 0)}
        self.record["kernels"] = {
            "01": nothing | {"memcheck": 32, "racecheck": 1},
            "02": nothing | {"wrong_runs": 3},
            "03": nothing | {"wrong_runs": 20, "racecheck": 1},
            "06": nothing,
        }
        table = tables_lab.lab(self.record)
        self.assertIn("| right | memcheck, racecheck |", table)
        self.assertIn("| wrong in 3 of 20 | nothing |", table)
        self.assertIn("| wrong | racecheck |", table)
        self.assertIn("the tests alone find 2 of 4 faults, compute-sanitizer finds 2, and neither finds: 06.", table)


if __name__ == "__main__":
    unittest.main()
