"""What the check fuzzing makes of libFuzzer's output."""

import unittest

from checks import fuzzing


class Judge(unittest.TestCase):
    def judge(self, output: str, code: int = 0):
        return fuzzing.judge("03 keeps its contract", output, code)

    def test_enough_runs_without_a_find_pass(self):
        self.assertTrue(self.judge("INFO: seed\nDone 2000 runs in 1 second(s)\n").ok)

    def test_a_broken_contract_is_told(self):
        found = self.judge("#12 NEW\nCONTRACT BROKEN: B=1 is accepted\n==7== ERROR: libFuzzer: deadly signal\n", 77)
        self.assertFalse(found.ok)
        self.assertEqual(found.detail, "CONTRACT BROKEN: B=1 is accepted")

    def test_what_a_sanitizer_found_is_told(self):
        found = self.judge("a.cpp:3:4: runtime error: signed integer overflow\n", 1)
        self.assertFalse(found.ok)
        self.assertIn("signed integer overflow", found.detail)

    def test_too_few_runs_and_none_fail(self):
        self.assertFalse(self.judge("Done 9 runs in 8 second(s)\n").ok)
        self.assertFalse(self.judge("").ok)


if __name__ == "__main__":
    unittest.main()
