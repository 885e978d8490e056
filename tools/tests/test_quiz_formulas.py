"""The formulas of the questions are those of the C++ programs: what these counted, and what their tests assert."""

import json
import re
import unittest

from course import counting, formulas
from course.counting import Count, Slip, Term
from course.lessons import ROOT


def recorded(name):
    return json.loads((ROOT / "plots/data" / f"{name}.json").read_text(encoding="utf-8"))


class Recorded(unittest.TestCase):
    """plots/data, which `checks figures` compares with what the programs count now."""

    def compare(self, table, field, formula, among="N"):
        self.assertGreater(len(table[among]), 2)
        for n, value in zip(table[among], table[field], strict=True):
            with self.subTest(field, N=n):
                self.assertEqual(formula(n), value)

    def test_lesson_04_tiles_and_bytes_by_the_size_of_sram(self):
        table = recorded("04_traffic_sram")["counted"]["V1"]

        def moved(sram):
            Bc = formulas.most_keys(sram, 64)
            return formulas.v1_read(1024, 1024, 64, Bc).value() + formulas.v1_written(1024, 1024, 64, Bc).value()

        self.compare(table, "hbm_bytes", moved, "sram")
        memory = recorded("04_memory")["V1"]
        self.compare(memory, "scratch_bytes", lambda n: formulas.v1_scratch(n).value())
        self.compare(memory, "sram_bytes", lambda n: formulas.tile_bytes(64, 259, 64).value())

    def test_lesson_05_and_lesson_11(self):
        counted = recorded("11_traffic")["counted"]
        standard, v1, v2 = counted["standard"], counted["V1"], counted["V2"]
        self.compare(standard, "read_bytes", lambda n: formulas.standard_read(n, n, 64).value())
        self.compare(standard, "written_bytes", lambda n: formulas.standard_written(n, n, 64).value())
        self.compare(v1, "read_bytes", lambda n: formulas.v1_read(n, n, 64, 64).value())
        self.compare(v1, "written_bytes", lambda n: formulas.v1_written(n, n, 64, 64).value())
        self.compare(v2, "read_bytes", lambda n: formulas.v2_read(n, n, 64, 64).value())
        self.compare(v2, "written_bytes", lambda n: formulas.v2_written(n, 64).value())
        memory = recorded("11_memory")
        self.compare(memory["standard"], "scratch_bytes", lambda n: formulas.standard_scratch(n, n).value())
        self.compare(memory["V2"], "scratch_bytes", lambda n: formulas.v2_scratch(n).value())

    def test_lessons_08_and_09(self):
        self.compare(
            recorded("08_memory")["stored"], "scratch_bytes", lambda n: formulas.backward_scratch(n, n).value()
        )
        Bc = formulas.most_keys(227 * 1024, 64, backward=True)

        def moved(n):
            return formulas.v1_backward_read(n, n, 64, Bc).value() + formulas.v1_backward_written(n, n, 64, Bc).value()

        self.compare(recorded("09_traffic")["counted"]["V1"], "hbm_bytes", moved)
        half = recorded("09_traffic")["formula in half precision"]
        self.compare(
            {"D": half["D"] * 2, "flop": half["standard_flop"] * 2},
            "flop",
            lambda D: formulas.backward_flop(4096, 4096, D, stored=True).value(),
            "D",
        )
        self.compare(
            {"D": half["D"] * 2, "flop": half["v1_flop"] * 2},
            "flop",
            lambda D: formulas.backward_flop(4096, 4096, D, stored=False).value(),
            "D",
        )

    def test_lesson_10(self):
        table = recorded("10_traffic")["V1"]

        def read(shape):
            N, Bc = shape
            return formulas.both(formulas.v1_read(N, N, 64, Bc), formulas.cuda_backward_read(N, N, 64, Bc)).value()

        def written(shape):
            N, Bc = shape
            return formulas.both(
                formulas.v1_written(N, N, 64, Bc), formulas.cuda_backward_written(N, N, 64, Bc)
            ).value()

        table["N, Bc"] = list(zip(table["N"], table["Bc"], strict=True))
        self.compare(table, "read_bytes", read, "N, Bc")
        self.compare(table, "written_bytes", written, "N, Bc")
        scratch = recorded("10_memory")["V1"]
        self.compare(scratch, "scratch_bytes", lambda n: formulas.cuda_backward_scratch(n).value())

    def test_forward_flop(self):
        for columns in (64, 128):
            flop = recorded("04_roofline")[f"D = {columns}"]["V1"]["flop"]
            self.assertEqual(formulas.forward_flop(4096, 4096, columns).value(), flop)


class Asserted(unittest.TestCase):
    """Numbers that a lesson's tests in C++ assert."""

    def test_each_number_stands_in_the_tests_of_its_lesson(self):
        for lesson, number, count in (
            ("04_counting_bytes", "4521984", formulas.v1_read(512, 512, 64, 32)),
            ("04_counting_bytes", "2162688 + 135168", formulas.v1_written(512, 512, 64, 32)),
            ("06_flash_v1", "54144", formulas.v1_shared(32, 32, 128)),
            ("06_flash_v1", "116480", formulas.v1_shared(64, 64, 128)),
            ("09_backward_recompute", "8716288", formulas.v1_backward_read(512, 512, 64, 32)),
            ("09_backward_recompute", "2490368", formulas.v1_backward_written(512, 512, 64, 32)),
            ("10_backward_cuda", "132352", formulas.cuda_backward_shared(64, 64, 64)),
            ("10_backward_cuda", "107136", formulas.cuda_backward_shared(32, 32, 128)),
            ("10_backward_cuda", "6914048", formulas.cuda_backward_read(512, 512, 64, 32)),
            ("10_backward_cuda", "2492416", formulas.cuda_backward_written(512, 512, 64, 32)),
            ("11_flash_v2", "16640 + 2 * 8320 + 8448", formulas.v2_shared(64)),
            ("11_flash_v2", "33024 + 2 * 16512 + 8448", formulas.v2_shared(128)),
        ):
            with self.subTest(lesson, number=number):
                tests = (ROOT / "lessons" / lesson / "test.cpp").read_text(encoding="utf-8")
                self.assertRegex(tests, rf"\b{re.escape(number)}\b")
                self.assertEqual(count.value(), eval(number))

    def test_a_causal_mask(self):
        """528 of 1024 pairs run at N = 4096 with tiles of 128 × 128: a table in lesson 06."""
        self.assertEqual(formulas.pairs_that_run(4096, 4096, 128, 128), 528)
        self.assertEqual(formulas.pairs_that_run(256, 256, 64, 32), 20)  # in the text of lesson 11
        self.assertEqual([formulas.visible_keys(i, 4, 2) for i in range(4)], [0, 0, 1, 2])


class Slips(unittest.TestCase):
    COUNT = formulas.v1_read(640, 640, 48, 40).with_heads(2)

    def explain(self, given, count=COUNT):
        return counting.explain(given, count.value(), count.slips(), count.extents)

    def test_what_was_forgotten_is_named(self):
        heads, row = 2, 640 * 48
        for given, said in (
            (self.COUNT.value() // 4, "if elements are counted, not bytes"),
            (self.COUNT.value() // 2, "for one head, and there are 2"),
            (4 * heads * (2 * row + 16 * 2 * row), "without m and l"),
            (4 * heads * (2 * row + 2 * row + 2 * 640), "if all of it crosses once, not once for each K/V tile"),
            (heads * (2 * row + 2 * row + 2 * 640), "once for each K/V tile, in elements in place of bytes"),
            (4 * heads * (2 * row + 16 * (row + 2 * 640)), "if out is never read"),
        ):
            with self.subTest(said):
                self.assertIn(said, self.explain(given))

    def test_a_last_tile_that_is_forgotten(self):
        count = formulas.v2_read(100, 100, 64, 48)
        self.assertIn("100 / 48 must be rounded up", self.explain(4 * 100 * 64 * (1 + 2 * 2), count))

    def test_mistakes_with_the_same_result_are_all_named(self):
        count = formulas.standard_scratch(256, 256)
        said = self.explain(256 * 256 * 4, count)
        self.assertIn("without S, or without P", said)

    def test_nothing_is_blamed_that_does_not_fit(self):
        self.assertEqual(self.explain(self.COUNT.value() * 48), "Your number is too large by a factor of 48 = D.")
        self.assertEqual(self.explain(self.COUNT.value() * 3), "Your number is too large by a factor of 3.")
        self.assertEqual(self.explain(0), "")
        self.assertEqual(self.explain(-4), "")

    def test_the_right_number_is_no_slip(self):
        count = Count((Term("a", (2,)),), others=(Slip(8, "never"),))
        self.assertNotIn("never", counting.explain(8, 8, count.slips()))

    def test_a_derivation_adds_up(self):
        lines = formulas.v1_read(512, 512, 64, 32).derivation()
        self.assertEqual(lines[0], "k and v: 2 · 512 · 64 = 65,536")
        self.assertEqual(lines[-1], "together: 1,130,496 · 4 bytes = 4,521,984")


if __name__ == "__main__":
    unittest.main()
