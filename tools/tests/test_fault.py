"""From the message of a failure to its kind; whether two messages say the same."""

import unittest

from course import fault
from course.fault import Fault

MESSAGES = {
    "HBM: s[70] is touched by two blocks, which run in no order\n  in f, block (2, 0, 0), thread (6, 0, 0)": "blocks s",
    "shared memory: m_tile[0] is touched by two threads with no barrier between": "race m_tile",
    "shared memory: read of q_tile[0][1], which nothing wrote\n  in f, block (0, 0, 0), thread (0, 0, 0)": "unwritten q_tile",
    "shared memory: read of the shared array of attention_forward.cu:44[0][1], which nothing wrote yet": "early shared",
    "shared memory: the shared array of attention_forward.cu:9[0][1] is touched by two threads": "race shared",
    "shared memory: left_tile[15][8] is read before an asynchronous copy into it has arrived": "copy left_tile",
    "mma_sync with a fragment that nothing has set": "unset",
    "a load of 16 bytes at k_tile[1][3], which begins at byte 150: must be a multiple of 16": "alignment",
    "load_matrix_sync with ld = 68: must be a multiple of 8, which are 16 bytes": "alignment",
    "a barrier that not all threads reach\n  in f, block (0, 2, 0), thread (0, 0, 0)": "barrier",
    "the threads of a block wait at different barriers": "barrier",
    "__shfl_xor_sync that not all lanes of its mask reach": "warp",
    "an exception was thrown:\nHBM: read of k[1260], which has 1260 elements\n  in f, block (1, 0, 5)": "bounds k",
    "HBM: write to out[1], which has 1 elements": "bounds out",
    "shared memory: index 33 in dimension 1 of 'q_tile', which has 33": "bounds q_tile",
    "an exception was thrown: HBM buffer 'q' of 6 elements: read of element 6": "bounds q",
    "SRAM: 'k_tile' of 64 elements was written past its end": "bounds k_tile",
    "f, launched at a.cu:84: grid.y = 70000: must be at most 65535": "launch",
    "f: sectors written: expected 256, got 2048, for 8192 bytes. Do neighboring threads touch neighbors?": "sectors",
    "q, read: expected 95040 bytes, got 2312640": "bytes q",
    "N = 128, D = 64, read: expected 655360 bytes, got 589824": "bytes",
    "s[i=0, j=0]: expected -0.4, got poison (60 of 120 values differ, 60 hold poison: never written)": "poison s",
    "p[row=1, j=0]: expected 0, got nan (3 of 6 values differ)": "nan p",
    "s[i=0, j=1]: expected -inf, got 0 (3 of 9 values differ)": "infinite s",
    "out[i=0, d=0]: expected 1, got 2 (1 of 2 values differ; norm-wise error 1, allowed 0)": "numbers out",
    "(m, l) after (0), then (2, 1): expected (2, 1.503215), got (2, 2.367879)": "numbers",
    "CHECK( a == b ): got 1 == 2": "other",
}


class Kinds(unittest.TestCase):
    def test_each_message_has_its_kind(self):
        for message, told in MESSAGES.items():
            with self.subTest(message):
                self.assertEqual(str(fault.classify(message)), told)

    def test_an_exception_that_is_none_of_the_emulators(self):
        self.assertEqual(fault.classify("vector::at", thrown=True), Fault("exception"))


class Resembling(unittest.TestCase):
    def test_what_nobody_writes_is_no_missing_barrier(self):
        race, early, unwritten = map(Fault, ("race", "early", "unwritten"))
        self.assertTrue(race.resembles(early) and unwritten.resembles(race))
        self.assertFalse(early.resembles(unwritten) or unwritten.resembles(early))


OFF_BY = "lse[i=0]: expected -4, got {} (1 of 1 values differ)"


class Same(unittest.TestCase):
    def test_messages_that_say_the_same(self):
        race, other = "k_tile[0][1] is touched by two threads", "k_tile[3][2] is touched by two threads"
        for said, told, alike in (
            (OFF_BY.format("2.00001"), OFF_BY.format("2"), True),
            (OFF_BY.format("2.1"), OFF_BY.format("2"), False),
            (OFF_BY.format("-2"), OFF_BY.format("2"), False),
            (OFF_BY.format("2"), OFF_BY.format("2").replace("1 of 1", "1 of 2"), False),
            (OFF_BY.format("2"), OFF_BY.format("2").replace("[i=0]", "[i=1]"), False),
            (OFF_BY.format("nan"), OFF_BY.format("nan"), True),
            ("q, read: expected 4 bytes, got 8", "q, read: expected 4 bytes, got 16", False),
            ("CHECK( x == y ): got { 1, 2 } == { 3, 4 }", "CHECK( x == y ): got { 1, 5 } == { 3, 4 }", False),
            ("CHECK( x == y ): got 1 == 2", "CHECK( x == z ): got 1 == 2", False),
            ("q, read: expected 4 bytes, got 1000", "q, read: expected 4 bytes, got 1001", False),
            (race, other, True),
            (race, race.replace("k_tile", "q_tile"), False),
        ):
            with self.subTest(said):
                self.assertEqual(fault.same(said, told), alike)

    def test_comparisons_at_the_same_place(self):
        pair, sizes = (
            "(m, l): expected (2, 1.5), got ({}, {})",
            "tiles(99): expected Br=64 Bc=86, got Br={} Bc={}, which",
        )
        for said, other, expected in (
            (OFF_BY.format(2), OFF_BY.format("nan"), True),
            (OFF_BY.format(2), OFF_BY.format(2).replace("-4", "-5"), False),
            (OFF_BY.format(2), OFF_BY.format(2).replace("[i=0]", "[i=1]"), False),
            (pair.format(2, 3), pair.format(2, 4), True),
            (pair.format(2, 3), pair.format(3, 1.5), False),
            (sizes.format(86, 86), sizes.format(64, 391), False),
            ("k is read early", OFF_BY.format(2), True),
        ):
            with self.subTest(said):
                self.assertEqual(fault.at_same_place(said, other), expected)

    def test_what_is_told_of_a_case(self):
        self.assertEqual(fault.readable("k := { -inff, 1.0f, nanf }, info"), "k = { -inf, 1.0f, nan }, info")

    def test_how_many_values_were_compared(self):
        self.assertEqual(fault.values("p[row=1]: expected 1, got 2 (3 of 40 values differ; norm-wise error 1)"), 40)
        self.assertEqual(fault.values("lse: expected 1, got 2"), 0)


if __name__ == "__main__":
    unittest.main()
