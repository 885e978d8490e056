"""The record of lesson 07 is refused unless it bears out what the texts say."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "plots"))

import record_gpu  # noqa: E402
import record_tensor_cores  # noqa: E402
import tables_tensor_cores  # noqa: E402
from data import PlotError  # noqa: E402


class Speed(unittest.TestCase):
    """mma takes 1 ms, PyTorch more."""

    def record(self, narrow: list[float | None], wide: list[float | None]) -> dict:
        lengths = [512, 1024, 2048, 4096, 8192]
        mma = {"mma": {"N": [*lengths, 65536], "milliseconds": [1.0] * 6}}
        pytorch = {"D = 64": narrow, "D = 128": wide}
        return {
            "forward": {"fp16": {"D = 64": mma, "D = 128": mma}},
            "pytorch": {width: {"N": lengths, "milliseconds": times} for width, times in pytorch.items()},
        }

    def test_the_promised_ratios_are_enough_below_1024_is_not_asked_and_what_did_not_fit_is_passed_over(self):
        record_tensor_cores.check(self.record([0.5, 2.4, 2.8, 3.5, 1.1], [0.5, 1.01, 1.01, 1.01, None]))

    def test_a_kernel_that_is_slower_than_promised_is_refused(self):
        narrow, wide = [1.0, 2.5, 2.9, 3.6, 4.0], [1.0, 1.5, 1.5, 1.5, 1.5]
        for at, time, text in (
            (1, 2.39, "N = 1024, D = 64 mma is 2.39 times as fast as PyTorch: must be 2.4"),
            (2, 2.7, "N = 2048, D = 64 .* must be 2.8"),
            (3, 3.4, "N = 4096, D = 64 .* must be 3.5"),
            (4, 0.9, "N = 8192, D = 64 .* must be 1.0"),
            (3, None, "no time at N = 4096, D = 64"),
        ):
            with self.subTest(text), self.assertRaisesRegex(PlotError, text):
                record_tensor_cores.check(self.record([*narrow[:at], time, *narrow[at + 1 :]], wide))
        for time in (1.0, 0.99):
            with self.subTest(time), self.assertRaisesRegex(PlotError, "N = 2048, D = 128 mma is"):
                record_tensor_cores.check(self.record(narrow, [1.0, 1.5, time, 1.5, 1.5]))


class Ladder(unittest.TestCase):
    def row(self, bench: str, Br: int, Bc: int, milliseconds: float, **changed: object) -> dict:
        return {
            "name": f"{bench}/N:4096/D:64/causal:0/Br:{Br}/Bc:{Bc}/manual_time",
            "real_time": milliseconds,
            "time_unit": "ms",
            "flops": 1e9,
            "peak_flops_per_second": 1e13,
            "Br": Br,
            "Bc": Bc,
            **changed,
        }

    def ladder(self, *rows: dict) -> list[tuple]:
        rungs = [
            ({"title": "fast", "name": "a"}, record_gpu.grouped([self.row("wmma_tiles", 64, 64, 9.0)])),
            ({"title": "slow", "name": "b"}, record_gpu.grouped([self.row("wmma_tiles", 64, 64, 10.0)])),
        ]
        found = record_tensor_cores.ladder(record_gpu.grouped(list(rows)), rungs)
        return [(row["title"], row["Br"], row["Bc"], row["milliseconds"]) for row in found]

    def test_it_leads_from_the_slowest_rung_to_the_most_keys_that_fit(self):
        too_large = {"error_occurred": True, "error_message": "does not fit: 9 bytes of shared memory"}
        rows = [
            self.row("wmma_tiles", 64, 64, 5.0),
            self.row("wmma_tiles", 256, 64, 4.0),
            self.row("wmma_tiles", 128, 128, 3.0),
            *(self.row("mma_tiles", 128, Bc, time) for Bc, time in ((64, 2.5), (128, 2.0), (512, 1.0))),
            {"name": "mma_tiles/N:4096/D:64/causal:0/Br:128/Bc:768/manual_time", **too_large},
            self.row("wmma_tiles", 64, 64, 1.0) | {"name": "wmma_tiles/N:4096/D:128/causal:0/Br:64/Bc:64/manual_time"},
        ]
        found = self.ladder(*rows)
        self.assertEqual([(title, time) for title, *_, time in found[:2]], [("slow", 10.0), ("fast", 9.0)])
        self.assertEqual(
            [row[1:] for row in found[2:]], [(64, 64, 5.0), (128, 128, 3.0), (128, 128, 2.0), (128, 512, 1.0)]
        )

    def test_tiles_that_are_absent_are_an_error(self):
        with self.assertRaisesRegex(PlotError, "wmma_tiles was not timed with Br = 64, Bc = 64"):
            self.ladder(self.row("wmma_tiles", 128, 128, 3.0))


class Tables(unittest.TestCase):
    machine = {"gpu": "G", "driver": "1", "cuda": "13.0", "commit": "abc"}

    def test_how_far_the_counters_are_from_the_formula(self):
        def profile(read: int) -> dict:
            return {
                "formula": {"read_bytes": 10_000, "written_bytes": 5},
                "hardware": {"read_bytes": read, "written_bytes": 5},
            }

        self.assertIn("say the same, to the byte", tables_tensor_cores.agreement([profile(10_000)]))
        self.assertIn("off by up to 0.06%", tables_tensor_cores.agreement([profile(10_000), profile(9_994)]))

    def test_a_rung_is_compared_with_the_one_above_it(self):
        row = {"Br": 64, "Bc": 64, "read_bytes": 1e9, "written_bytes": 1e9, "tflops": 10.0}
        lengths = {"D = 64": {"mma": {"N": [512, 1024], "operand_bytes": [10, 30]}}}
        record = self.machine | {
            "batches": 8,
            "heads": 16,
            "l2_bytes": 20,
            "pytorch": {"pytorch": "2.11.0"},
            "forward": {"fp16": lengths},
            "lesson 06": {"N": [4096], "milliseconds": [140.0], "repetitions": [5]},
            "ladder": [{"title": "slow", "milliseconds": 6.0, **row}, {"title": "fast", "milliseconds": 4.0, **row}],
        }
        text = tables_tensor_cores.ladder_07(record)
        self.assertIn(
            "| slow | 64 x 64 | 2.00 GB | 6.00 ms | 10.0 |  |\n| fast | 64 x 64 | 2.00 GB | 4.00 ms | 10.0 | 1.50 |",
            text,
        )
        self.assertIn("it could hold the operands up to N = 512", text)

    def test_without_the_memory_for_standard_attention_the_long_sequence_says_so(self):
        mma = {"N": [65536], "repetitions": [5], "milliseconds": [442.0], "scratch_bytes": [277_000_000]}
        cublas = {"N": [65536], "repetitions": [5], "milliseconds": [None]}
        record = self.machine | {"heads": 16, "forward": {"fp16": {"D = 64": {"mma": mma, "cuBLAS": cublas}}}}
        self.assertIn("V1 keeps 277 MB", tables_tensor_cores.long_07(record))
        self.assertIn(
            "S alone would be 137 GB; standard attention by cuBLAS is out of memory",
            tables_tensor_cores.long_07(record),
        )
        mma["milliseconds"] = [None]
        with self.assertRaisesRegex(PlotError, "mma has no time at N = 65536"):
            tables_tensor_cores.long_07(record)


if __name__ == "__main__":
    unittest.main()
