"""The demonstration of kernels and traffic: what it says, on which machine, and its exit code."""

import contextlib
import io
import json
import unittest
from itertools import pairwise
from pathlib import Path
from unittest import mock

import cuda_tools
from course import demo_gpu, demo_kernels, demo_live, demo_program, demo_screen, demo_traffic, lessons, process
from course.errors import InternalError, UsageError
from course_folder import CourseFolder


def traffic(read, written):
    return {"read_bytes": read, "written_bytes": written}


def kernel(name="V1", Bc=32, shared_bytes=29568, read=4521984, written=2297856, **more):
    return {
        "name": name,
        "Br": 32,
        "Bc": Bc,
        "shared_bytes": shared_bytes,
        "scratch_bytes": 4096,
        "formula": traffic(read, written),
        "checked_rows": 4,
    } | more


def counted(run, buffers=("q", "m")):
    """Its bytes, all from these buffers and in whole sectors."""
    read, written = run["formula"]["read_bytes"], run["formula"]["written_bytes"]
    sectors = {"read_sectors": read // 32, "written_sectors": written // 32}
    each = {name: traffic(read // len(buffers), written // len(buffers)) for name in buffers}
    return run | {"counted": traffic(read, written) | sectors | {"buffers": each}}


STANDARD = kernel("standard", shared_bytes=0, read=10485760, written=2228224, scratch_bytes=2097152)
V2 = kernel("V2", shared_bytes=41728, read=2228224, written=133120, scratch_bytes=2048)
EMULATED = [
    counted(STANDARD, ("q", "S")),
    counted(kernel()),
    counted(kernel(Bc=64, read=2392064, written=1216512)),
    counted(V2, ("q", "lse")),
]
ON_GPU = [
    STANDARD | {"seconds": 0.0512},
    kernel(seconds=0.204),
    kernel(Bc=64, read=2392064, written=1216512, seconds=0.1024),
    V2 | {"seconds": 0.0256},
]


def algorithm(name, counted_bytes=None, **more):
    counted = None if counted_bytes is None else traffic(counted_bytes, 64)
    formula = {"formula": traffic(64000, 6400), "formula_one_head": traffic(640, 64), "counted": counted}
    return {"name": name, "Br": 0, "Bc": 0, "scratch_bytes": 4096, "flops": 2750} | formula | more


TABLE = [algorithm("standard", 640), algorithm("V1", 640, Br=64, Bc=562), algorithm("V2"), algorithm("least possible")]


class Kernels(CourseFolder):
    def test_bytes_stand_by_buffer_and_in_total_beside_the_formula(self):
        self.assertTrue(demo_kernels.show(EMULATED))
        lines = [line.split() for line in self.output().splitlines()]
        self.assertIn(["S", "5,242,880", "1,114,112"], lines)
        self.assertIn(["m", "2,260,992", "1,148,928"], lines)
        for title in ("counted", "formula"):
            row = [title, "10,485,760", "2,228,224", "4,521,984", "2,297,856", "2,228,224", "133,120"]
            self.assertIn(row, lines)
        self.assertIn(["sectors", "327,680", "69,632", "141,312", "71,808", "69,632", "4,160"], lines)
        self.assertIn("that move at once, were used whole.", self.output())
        self.assertIn("Count and formula agree to the byte.", self.output())
        self.assertIn("16 of their rows", self.output())
        self.assertIn("V1 moves 1.9 and 3.5 times fewer than standard.", self.output())
        self.assertIn("V2 moves 5.4 times fewer.", self.output())

    def test_a_byte_too_many_is_told(self):
        wrong = EMULATED[2] | {"formula": traffic(2392064, 1216511)}
        self.assertFalse(demo_kernels.show([*EMULATED[:2], wrong, EMULATED[3]]))
        self.assertIn("do NOT agree for: V1, 32×64.", self.output())

    def test_sectors_that_were_not_used_whole_are_told(self):
        wasted = EMULATED[0]["counted"] | {"read_sectors": 10**6}
        self.assertTrue(demo_kernels.show([EMULATED[0] | {"counted": wasted}, *EMULATED[1:]]))
        self.assertIn("were used whole; standard's carried 11.9.", self.output())


class OnGpu(CourseFolder):
    def show(self, ask, nvcc="/usr/local/cuda/bin/nvcc", has_gpu=True):
        with (
            mock.patch.object(cuda_tools, "find", return_value=nvcc),
            mock.patch.object(cuda_tools, "has_gpu", return_value=has_gpu),
            mock.patch.object(demo_program, "build", side_effect=lambda where, name: [where.binary(name)]) as build,
            mock.patch.object(demo_program, "ask", side_effect=ask),
        ):
            self.shown = {}
            failure = demo_gpu.show(self.shown)
        self.built = build.called
        return failure

    def answer(self, *runs):
        def ask(program, flags):
            self.assertEqual(program.relative_to(lessons.ROOT), Path("build/cuda/bin/demo_kernels"))
            return {"device": "NVIDIA H200", "runs": list(runs)}

        return ask

    def test_times_of_each_kernel_with_the_name_of_the_gpu(self):
        self.assertIsNone(self.show(self.answer(*ON_GPU)))
        for text in ("NVIDIA H200", "16,384 tokens, 32 heads", "N = 1024", "N = 4096", "12.7 MB", "51.2 ms", "204 ms"):
            self.assertIn(text, self.output())
        self.assertIn("At N = 4096, V1 asks for 3.5 times fewer bytes, and takes 2.0 times as long", self.sentences())
        self.assertIn("At N = 4096, V2 asks for 5.4 times fewer bytes, and is 2.0 times as fast as", self.sentences())
        self.assertIn("not yet less time", self.sentences())
        self.assertLessEqual(self.widest(), 80)
        self.assertEqual([answer["shape"]["--N"] for answer in self.shown["gpu"]], [1024, 4096])

    def test_bytes_and_time_may_fall_together(self):
        self.assertIsNone(self.show(self.answer(ON_GPU[0], kernel(seconds=0.0128))))
        self.assertIn("1.9 times fewer bytes, and is 4.0 times as fast as standard attention.", self.sentences())
        self.assertNotIn("not yet", self.output())

    def test_every_length_has_the_same_tokens(self):
        for N in demo_gpu.LENGTHS:
            self.assertEqual(demo_gpu.shape(N)["--B"] * N, demo_gpu.TOKENS)

    def test_what_does_not_fit_is_told(self):
        standard = STANDARD | {"skipped": "HBM", "scratch_bytes": 17_179_869_184}
        v1 = kernel(Bc=64, shared_bytes=67328, skipped="SRAM")
        self.assertIsNone(self.show(self.answer(standard, ON_GPU[1], v1)))
        self.assertIn("does not fit: needs 17.2 GB of HBM", self.output())
        self.assertIn("does not fit: needs 67.3 kB of SRAM", self.output())
        self.assertNotIn("At N =", self.output())  # nothing to compare

    def test_without_nvcc_or_gpu_a_line_says_so(self):
        for nvcc, has_gpu, text in (
            (None, False, "neither"),
            ("nvcc", False, "nvcc, but no GPU"),
            (None, True, "With nvcc, times on this machine's GPU"),
        ):
            with self.subTest(text):
                self.said.clear()
                self.assertIsNone(self.show(AssertionError, nvcc, has_gpu))
                self.assertFalse(self.built)
                self.assertIn(text, self.output())
                self.assertEqual(len(self.output().strip().splitlines()), 1)

    def test_a_gpu_that_cannot_be_used_is_no_error(self):
        self.assertIsNone(self.show(demo_program.NoDevice("no CUDA device: the driver is too old")))
        self.assertIn("cannot be used: no CUDA device: the driver is too old", self.output())

    def test_a_failure_is_told_and_handed_back(self):
        error = InternalError("demo_kernels ended with exit code 1.")
        self.assertIs(self.show(error), error)
        self.assertIn("did not run", self.output())


class Whole(CourseFolder):
    def run_demo(self, *arguments, kernels=EMULATED, table=TABLE, failure=None):
        def ask(program, flags):
            if isinstance(table, Exception):
                raise table
            return {"algorithms": table}

        with (
            mock.patch.object(demo_program, "build", side_effect=lambda where, *names: [Path(name) for name in names]),
            mock.patch.object(demo_program, "ask", side_effect=ask),
            mock.patch.object(demo_live, "run", return_value=(kernels, [])) as self.live,
            mock.patch.object(demo_gpu, "show", return_value=failure) as self.gpu,
            mock.patch.object(demo_traffic, "draw_figures", return_value=["headline.svg"]),
            contextlib.redirect_stdout(io.StringIO()) as stdout,
        ):
            code = demo_traffic.main(["--out", str(self.root / "shown"), *arguments])
        self.stdout = stdout.getvalue()
        return code

    def test_all_models_and_the_gpu(self):
        self.assertEqual(self.run_demo(), 0)
        self.assertEqual(self.output().count("V1, 64×562"), 4)
        self.assertLessEqual(self.widest(), 80)
        self.gpu.assert_called_once()

    def test_a_shape_of_your_own_takes_no_gpu(self):
        self.assertEqual(self.run_demo("--N", "2048"), 0)
        self.assertIn("batch 1, 1 head, N = 2048, D = 64, fp16", self.output())
        self.gpu.assert_not_called()

    def test_a_count_that_is_not_the_formulas_is_exit_code_1(self):
        wrong = EMULATED[0] | {"formula": traffic(1, 1)}
        self.assertEqual(self.run_demo(kernels=[wrong, *EMULATED[1:]]), 1)
        self.assertEqual(self.run_demo(table=[*TABLE[:1], algorithm("V1", 641), *TABLE[2:]]), 1)
        self.assertIn("WRONG", self.output())

    def test_a_gpu_that_failed_ends_with_its_error_after_all_else(self):
        with self.assertRaisesRegex(InternalError, "it broke"):
            self.run_demo(failure=InternalError("it broke"))
        self.assertIn("How to read this", self.output())

    def test_bad_flags_show_nothing(self):
        for arguments in (
            ["--N", "-1"],
            ["--N", "1.5"],
            ["--sram", "1"],
            ["--dtype", "fp8"],
            ["--out", ""],
            ["x"],
            ["--pace", "-1"],
            ["--pace", "quick"],
            ["--pace", "nan"],
            ["--out", __file__],
            ["--out", f"{__file__}/new"],
        ):
            with self.subTest(arguments), self.assertRaises(UsageError):
                self.run_demo(*arguments)
        self.assertEqual(self.output(), "")

    def test_what_the_program_rejects_shows_no_half_answer(self):
        with self.assertRaisesRegex(UsageError, "too large"):
            self.run_demo("--N", "100000000", table=UsageError("too large"))
        self.assertEqual(self.output(), "")
        self.live.assert_not_called()

    def test_one_document_holds_all_that_is_shown(self):
        self.assertEqual(self.run_demo("--json"), 0)
        document = json.loads(self.stdout)
        self.assertEqual(document["kernels"]["runs"], EMULATED)
        self.assertEqual([case["title"] for case in document["cases"]], [case.title for case in demo_traffic.MODELS])
        self.assertEqual(document["cases"][0]["algorithms"], TABLE)
        self.assertEqual(document["figures"], ["headline.svg"])
        self.assertEqual(json.loads((self.root / "shown" / "demo.json").read_text(encoding="utf-8")), document)
        self.assertNotIn("CUDA kernels", self.output())  # nothing else on stdout

    def test_without_json_the_document_goes_to_the_folder_only(self):
        self.assertEqual(self.run_demo("--N", "512"), 0)
        self.assertEqual(self.stdout, "")
        document = json.loads((self.root / "shown" / "demo.json").read_text(encoding="utf-8"))
        self.assertEqual(document["cases"][0]["title"], "Your shape")

    def test_a_folder_that_cannot_be_written_to_is_refused_before_anything_is_built(self):
        with (
            mock.patch.object(demo_traffic.tempfile, "TemporaryFile", side_effect=PermissionError(13, "not yours")),
            mock.patch.object(demo_program, "build") as build,
            self.assertRaisesRegex(UsageError, f"--out '{self.root}': .*: not yours"),
        ):
            demo_traffic.main(["--out", str(self.root)])
        build.assert_not_called()

    def test_where_nobody_named_a_folder_the_course_is_what_cannot_be_written_to(self):
        with (
            mock.patch.object(demo_traffic.tempfile, "TemporaryFile", side_effect=PermissionError(13, "not yours")),
            mock.patch.object(demo_program, "build") as build,
            self.assertRaisesRegex(InternalError, "Cannot write in .course/: not yours"),
        ):
            demo_traffic.main([])
        build.assert_not_called()

    def test_the_figures_that_are_named_are_drawn_and_no_others(self):
        with mock.patch.object(process, "stream", return_value=(0, "")) as stream:
            names = demo_traffic.draw_figures(self.root)
        command = stream.call_args.args[0]
        self.assertEqual([f"{name}.svg" for flag, name in pairwise(command) if flag == "--figure"], names)
        for name in names:
            self.assertIn(f"  {name} ", self.output())
            self.assertTrue((lessons.ROOT / "plots/figures" / name).is_file(), name)

    def test_tables_fit_the_terminal(self):
        for width in (60, 80, 100):
            self.said.clear()
            with mock.patch.object(demo_screen, "width", return_value=width):
                demo_kernels.show_buffers([EMULATED[0], EMULATED[1], EMULATED[3]])
                demo_kernels.show_totals(EMULATED)
                demo_gpu.show_length(4096, ON_GPU)
                demo_traffic.show_case(demo_traffic.MODELS[0], TABLE)
            rows = [line for line in self.output().splitlines() if "  " in line.strip()]
            self.assertEqual(len(rows), 9 + 5 + 5 + 5)
            self.assertLessEqual(max(map(len, rows)), width)


if __name__ == "__main__":
    unittest.main()
