"""The check of the CUDA build must be able to fail."""

import contextlib
import io
import unittest
from unittest import mock

from checks import __main__ as driver
from checks import cuda

SKIPPED = (
    '<testcase name="{}" status="notrun"><skipped message="SKIP_RETURN_CODE=4"/>'
    "<system-out>skipped: no CUDA device: no driver</system-out></testcase>"
)
TOO_OLD = SKIPPED.replace("no driver", "compute capability 8.0 or newer is needed, and Tesla T4 has 7.5")
BY_ITSELF = SKIPPED.replace("no CUDA device: no driver", "a GPU does not count bytes")
PASSED = '<testcase name="{}" status="run"/>'
NOT_BUILT = '<testcase name="{}" status="notrun"><skipped message="Unable to find executable: x"/></testcase>'
FAILED = '<testcase name="{}" status="fail"><failure message="Failed"/></testcase>'


class Cuda(unittest.TestCase):
    def judged(self, *cases: str, with_gpu: bool = False) -> dict[str, str]:
        """The details of what is not right, by group, of a course with the lessons 01, on the CPU, and 05."""
        report = f'<testsuite name="Linux-c++">{"".join(cases)}</testsuite>'
        results = cuda.judge(report, {"01"}, {"05"}, with_gpu)
        return {result.name.split()[0]: result.detail for result in results if not result.ok}

    def test_without_a_gpu_every_test_must_be_skipped(self):
        good = PASSED.format("01/solution/x"), SKIPPED.format("05/solution/x")
        self.assertEqual(self.judged(*good), {})
        for template in (PASSED, NOT_BUILT, FAILED, BY_ITSELF):
            self.assertIn("one more", self.judged(*good, template.format("05/solution/one more"))["05"])

    def test_with_a_gpu_every_test_must_pass(self):
        good = PASSED.format("01/solution/x"), PASSED.format("05/solution/x")
        self.assertEqual(self.judged(*good, with_gpu=True), {})
        self.assertIn("05", self.judged(*good, SKIPPED.format("05/solution/one more"), with_gpu=True))
        self.assertEqual(self.judged(*good, BY_ITSELF.format("05/solution/bytes"), with_gpu=True), {})
        self.assertIn("05", self.judged(good[0], BY_ITSELF.format("05/solution/bytes"), with_gpu=True))

    def test_a_lesson_may_need_a_newer_gpu_as_a_whole(self):
        old = PASSED.format("01/solution/x"), TOO_OLD.format("05/solution/x")
        self.assertEqual(self.judged(*old, with_gpu=True), {})
        self.assertIn("05", self.judged(*old, PASSED.format("05/solution/one more"), with_gpu=True))
        self.assertIn("01", self.judged(TOO_OLD.format("01/solution/x"), old[1], with_gpu=True))

    def test_what_runs_on_the_cpu_is_not_skipped(self):
        self.assertIn("01", self.judged(SKIPPED.format("01/solution/x"), SKIPPED.format("05/solution/x")))

    def test_a_lesson_without_tests_is_found(self):
        self.assertIn("no test is", self.judged(PASSED.format("01/solution/x"))["05"])

    def test_what_nobody_has_named_is_taken_to_need_a_gpu(self):
        good = PASSED.format("01/solution/x"), SKIPPED.format("05/solution/x")
        self.assertEqual(self.judged(*good, SKIPPED.format("cublas/x")), {})
        self.assertIn("cublas", self.judged(*good, PASSED.format("cublas/x")))

    def test_without_nvcc_nothing_is_counted(self):
        out = io.StringIO()
        with mock.patch.object(cuda.cuda_tools, "find", return_value=None), contextlib.redirect_stdout(out):
            results = driver.run_check("cuda")
        self.assertEqual([(result.ok, result.count) for result in results], [(True, 0)])
        self.assertIn("nvcc is not here", out.getvalue())


if __name__ == "__main__":
    unittest.main()
