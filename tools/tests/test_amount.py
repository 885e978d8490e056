"""Numbers as students type them."""

import unittest
from fractions import Fraction

from course import amount
from course.amount import NotUnderstood


class Parse(unittest.TestCase):
    def test_what_is_understood(self):
        for text, unit, value in (
            ("1048576", "bytes", 2**20),
            ("1,048,576", "bytes", 2**20),
            ("1 048 576", "bytes", 2**20),
            ("1'048'576 B", "bytes", 2**20),
            ("1_048_576 bytes", "bytes", 2**20),
            ("1e6", "bytes", 10**6),
            ("1.5e3 kB", "bytes", 1_500_000),
            ("1 MiB", "bytes", 2**20),
            ("4.5 MB", "bytes", 4_500_000),
            ("4.5mb", "bytes", 4_500_000),
            ("2 GFLOP", "FLOP", 2 * 10**9),
            ("3k", "", 3000),
            ("2^20", "", 2**20),
            ("2**20", "", 2**20),
            ("512 × 64 · 4", "", 512 * 64 * 4),
            ("2 x 3", "", 6),
            ("(3*64+4)/4", "", 49),
            ("1/3", "", Fraction(1, 3)),
            ("0.1", "", Fraction(1, 10)),
            ("−2.5", "", Fraction(-5, 2)),
            ("12 blocks", "blocks", 12),
        ):
            with self.subTest(text):
                self.assertEqual(amount.parse(text, unit), value)

    def test_what_is_not(self):
        for text, unit in (
            ("", ""),
            ("many", ""),
            ("3,14", ""),
            ("1,0000", ""),
            ("12,34,567", ""),
            ("4 floats", "bytes"),
            ("4 MB", "FLOP"),
            ("4 MB", ""),
            ("1/0", ""),
            ("9^9^9", ""),
            ("2^65", ""),
            ("1e400", ""),
            ("1e50", ""),
            ("True", ""),
            ("__import__('os')", ""),
            ("[1][0]", ""),
            ("(" * 90 + "1", ""),
            ("1" * 300, ""),
            ("1\n2", ""),
            ("07", ""),
            ("1or 2", ""),
            ("٣", ""),
        ):
            with self.subTest(text), self.assertRaises(NotUnderstood):
                amount.parse(text, unit)

    def test_words(self):
        self.assertEqual(amount.words(Fraction(4521984), "bytes"), "4,521,984 bytes")
        self.assertEqual(amount.words(Fraction(1), "bytes"), "1 byte")
        self.assertEqual(amount.words(Fraction(1, 3)), "0.333333")
        self.assertEqual(amount.words(-1.0), "-1")


if __name__ == "__main__":
    unittest.main()
