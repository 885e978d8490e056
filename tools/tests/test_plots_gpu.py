"""What a GPU measured is recorded whole or not at all, and texts show what is recorded."""

import copy
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "plots"))

import cells  # noqa: E402
import readme_table  # noqa: E402
import record_backward  # noqa: E402
import record_gpu  # noqa: E402
import record_profile  # noqa: E402
import record_v2  # noqa: E402
import tables  # noqa: E402
from data import PlotError  # noqa: E402


def repetition(name: str, milliseconds: float, **counters: float) -> dict:
    return {
        "name": f"{name}/min_time:0.050/repeats:3/manual_time",
        "real_time": milliseconds,
        "time_unit": "ms",
        "flops": 1e9,
        "peak_flops_per_second": 1e13,
        "read_bytes": 100,
        "written_bytes": 50,
        "scratch_bytes": 8,
        **counters,
    }


class Record(unittest.TestCase):
    def table(self, rows: list[dict]) -> dict:
        return record_gpu.table(record_gpu.grouped(rows), "lesson_06", ("N",), 64, 0)

    def test_the_median_and_the_spread_of_the_repetitions_are_kept(self):
        found = self.table([repetition("lesson_06/N:512/D:64/causal:0", time, Br=64) for time in (3.0, 1.0, 1.5)])
        self.assertEqual(found["N"], [512])
        self.assertEqual((found["milliseconds"], found["least"], found["most"]), ([1.5], [1.0], [3.0]))
        self.assertEqual((found["repetitions"], found["Br"], found["read_bytes"]), ([3], [64], [100]))
        self.assertEqual((found["tflops"], found["peak_share"]), ([0.6667], [0.0667]))

    def test_rows_are_in_order_and_only_of_what_was_asked_for(self):
        names = ("lesson_06/N:1024/D:64/causal:0", "lesson_06/N:512/D:64/causal:0", "lesson_06/N:512/D:64/causal:1")
        others = ("lesson_06/N:256/D:128/causal:0", "lesson_05/N:128/D:64/causal:0")
        self.assertEqual(self.table([repetition(name, 1.0) for name in (*names, *others)])["N"], [512, 1024])

    def test_what_does_not_fit_has_null_in_place_of_a_time(self):
        missing = {
            "name": "lesson_06/N:1024/D:64/causal:0/manual_time",
            "error_occurred": True,
            "error_message": "out of memory: 9 bytes of scratch",
        }
        found = self.table([missing, repetition("lesson_06/N:512/D:64/causal:0", 2.0)])
        self.assertEqual(
            (found["N"], found["milliseconds"], found["scratch_bytes"]), ([512, 1024], [2.0, None], [8, None])
        )

    def test_another_error_is_an_error(self):
        broken = {"name": "lesson_06/N:512/D:64/causal:0", "error_occurred": True, "error_message": "illegal access"}
        with self.assertRaisesRegex(PlotError, "illegal access"):
            self.table([broken])

    def test_a_rate_above_the_peak_is_an_error(self):
        with self.assertRaisesRegex(PlotError, "above the peak"):
            self.table([repetition("lesson_06/N:512/D:64/causal:0", 0.05)])

    def test_a_benchmark_that_is_absent_is_an_error(self):
        with self.assertRaisesRegex(PlotError, "lesson_06 with D = 64"):
            self.table([repetition("lesson_05/N:512/D:64/causal:0", 1.0)])


class RecordProfile(unittest.TestCase):
    bytes = {"read_bytes": 10, "written_bytes": 5}
    small = {
        "lesson": "06_flash_v1",
        "implementation": "solution",
        "commit": "abc",
        "gpu": "G",
        "driver": "1",
        "cuda": "13.0",
        "ncu": "2025",
        "shape": {"heads": 1, "n": 512},
        "formula": bytes,
        "emulator": None,
        "hardware": bytes,
    }

    def combined(self, **changed: object) -> dict:
        other = {**copy.deepcopy(self.small), "emulator": self.bytes, "hardware": None, "gpu": None, **changed}
        return record_profile.combined("06", {Path("a"): self.small, Path("b"): other})

    def test_files_of_one_shape_complete_each_other(self):
        found = self.combined()
        self.assertEqual(len(found["profiles"]), 1)
        self.assertEqual((found["profiles"][0]["emulator"], found["gpu"]), (self.bytes, "G"))

    def test_what_does_not_belong_together_is_refused(self):
        wrong = {"read_bytes": 11, "written_bytes": 5}
        for changed, text in (
            ({"commit": "def"}, "b has commit = def"),
            ({"formula": wrong}, "b has formula"),
            ({"emulator": wrong}, "the emulator's read_bytes is not what the formula says"),
            ({"lesson": "05_standard_cuda"}, "b is of lesson 05_standard_cuda"),
            ({"shape": {"heads": 2, "n": 512}}, "no file has the GPU's counters"),
        ):
            with self.subTest(text), self.assertRaisesRegex(PlotError, text):
                self.combined(**changed)


def kernel(name: str, read: int, written: int) -> record_backward.ncu.Kernel:
    values = {"read_bytes": read, "written_bytes": written, "dram_read_bytes": 1, "dram_written_bytes": 2}
    return record_backward.ncu.Kernel(name, values)


class RecordBackward(unittest.TestCase):
    profile = {"kernels": ["prepare_kernel", "attention_backward_kernel"], "formula": RecordProfile.bytes}
    kernels = [kernel("prepare_kernel", 4, 2), kernel("attention_backward_kernel", 6, 3)]

    def step(self, name: str, milliseconds: float, **counters: float) -> dict:
        return repetition(name, milliseconds, forward_ms=0.25, backward_ms=0.75, **counters)

    def test_the_fastest_tiles_that_fit_are_taken(self):
        too_large = {"error_occurred": True, "error_message": "does not fit: 9 bytes of shared memory"}
        rows = [
            self.step("standard", 2.0),
            *(self.step("v1/Br:32/Bc:32", time, Br=32, Bc=32) for time in (3.0, 5.0, 4.0)),
            self.step("v1/Br:64/Bc:64", 3.5, Br=64, Bc=64),
            {"name": "v1/Br:64/Bc:128/manual_time", **too_large},
        ]
        found = record_backward.timed(rows)
        self.assertEqual((found["V1"]["Br"], found["V1"]["milliseconds"], found["V1"]["backward_ms"]), (64, 3.5, 0.75))
        self.assertEqual((found["tiles"]["Bc"], found["tiles"]["milliseconds"]), ([32, 64, 128], [4.0, 3.5, None]))
        with self.assertRaisesRegex(PlotError, "no standard step"):
            record_backward.timed(rows[1:])

    def test_counters_are_summed_and_must_be_the_formula(self):
        found = record_backward.hardware(self.kernels, self.profile, RecordProfile.bytes)
        self.assertEqual((found["read_bytes"], found["written_bytes"], found["dram_read_bytes"]), (10, 5, 2))
        self.assertEqual([one["read_bytes"] for one in found["kernels"]], [4, 6])
        for kernels, text in (
            ([self.kernels[0], kernel("attention_backward_kernel", 7, 3)], "read_bytes: the GPU counted 11"),
            (self.kernels[:1], "the GPU ran"),
        ):
            with self.subTest(text), self.assertRaisesRegex(PlotError, text):
                record_backward.hardware(kernels, self.profile, RecordProfile.bytes)
        with self.assertRaisesRegex(PlotError, "must be 9"):
            record_backward.hardware(self.kernels, self.profile, {**RecordProfile.bytes, "written_bytes": 9})

    def test_a_program_that_tells_nothing_is_an_error(self):
        self.assertEqual(record_backward.told('noise\n{"kernels": []}\n'), {"kernels": []})
        with self.assertRaisesRegex(PlotError, "did not tell"):
            record_backward.told("profile_10: out of memory")


class RecordV2(unittest.TestCase):
    """V2 takes 1 ms, the others more."""

    def record(self, v1: float = 4.0, standard: float = 2.0, few: float = 4.0, v1_heads: float = 2.0) -> dict:
        def table(*milliseconds: float | None) -> dict:
            return {"N": [512, 1024], "milliseconds": list(milliseconds)}

        lengths = {"lesson 05": table(0.5, standard), "lesson 06": table(v1, None), "lesson 11": table(1.0, 1.0)}
        shapes = {"N": [1024, 4096], "heads": [1, 16]}
        heads = {
            "V1": {**shapes, "milliseconds": [v1_heads, few]},
            "V2": {**shapes, "milliseconds": [1.0, 1.0]},
        }
        return {"forward": {"D = 64": lengths}, "causal": {"D = 64": lengths}, "heads": heads}

    def test_below_1024_lesson_05_may_be_faster_and_what_did_not_fit_is_passed_over(self):
        record_v2.check(self.record())

    def test_a_v2_that_is_not_as_fast_as_the_text_says_is_refused(self):
        for changed, text in (
            ({"v1": 1.0}, "forward, D = 64, lesson 06 and 11, N = 512: V2 takes 1.0 ms"),
            ({"standard": 0.9}, "lesson 05 and 11, N = 1024: V2 takes 1.0 ms"),
            ({"v1_heads": 0.9}, "heads, V1 and V2, N = 1024, heads = 1: V2 takes"),
            ({"few": 2.9}, "with 16 heads of N = 4096 V2 is 2.90 times as fast as V1"),
        ):
            with self.subTest(text), self.assertRaisesRegex(PlotError, text):
                record_v2.check(self.record(**changed))

    def test_a_row_that_is_missing_is_refused(self):
        record = self.record()
        record["heads"]["V1"] = {"N": [1024], "heads": [1], "milliseconds": [2.0]}
        with self.assertRaisesRegex(PlotError, "timed at"):
            record_v2.check(record)


class Texts(unittest.TestCase):
    def setUp(self):
        kept = dict(tables.TABLES)
        self.addCleanup(tables.TABLES.update, kept)
        self.addCleanup(setattr, readme_table.data, "load", readme_table.data.load)
        readme_table.data.load = lambda name: {"from": name}
        tables.TABLES["times"] = (lambda record: f"made of {record['from']}", "h200_forward")

    def test_only_what_stands_between_the_markers_changes(self):
        text = "before\n<!-- table: times -->\nold\n<!-- /table -->\nafter\n"
        wanted = "before\n<!-- table: times -->\nmade of h200_forward\n<!-- /table -->\nafter\n"
        self.assertEqual(readme_table.filled(text, "README.md"), wanted)
        self.assertEqual(readme_table.filled(wanted, "README.md"), wanted)

    def test_a_marker_that_is_not_understood_is_an_error(self):
        for text, said in (
            ("<!-- table: other -->\n<!-- /table -->\n", "there is no table other"),
            ("<!-- table: times -->\n", "has no end"),
            ("<!-- /table -->\n", "must alternate"),
            ("<!-- table: times -->\n<!-- table: times -->\n<!-- /table -->\n", "must alternate"),
        ):
            with self.subTest(said), self.assertRaisesRegex(PlotError, said):
                readme_table.filled(text, "README.md")

    def test_dram_bytes_far_from_the_formula_are_an_error(self):
        def record(dram: int) -> dict:
            hardware = {"dram_read_bytes": dram, "dram_written_bytes": 1000}
            formula = {"read_bytes": 1000, "written_bytes": 1000}
            small = {"shape": {"heads": 1, "n": 512}, "hardware": {}, "formula": formula}  # of this, L2 keeps much
            return {"profiles": [{"shape": {"heads": 264, "n": 2048}, "hardware": hardware, "formula": formula}, small]}

        self.assertAlmostEqual(tables.dram_error(record(971))["read"], -0.029)
        for dram in (963, 1031):
            with self.subTest(dram), self.assertRaisesRegex(PlotError, "off the formula"):
                tables.dram_error(record(dram))

    def test_pairs_of_tiles_that_a_causal_mask_leaves(self):
        self.assertEqual(tables.pairs_of_tiles(512, 32, 32), (136, 256))
        self.assertEqual(tables.pairs_of_tiles(100, 32, 48), (8, 12))

    def test_numbers_have_three_digits(self):
        self.assertEqual(
            [cells.decimal(value) for value in (999, 1000, 1.624e9, 68.7e9)],
            ["999 B", "1.00 kB", "1.62 GB", "68.7 GB"],
        )
        self.assertEqual(
            [cells.time(value) for value in (1.234, 99.96, 1234.0, None)],
            ["1.23 ms", "100 ms", "1.23 s", "out of memory"],
        )


if __name__ == "__main__":
    unittest.main()
