"""./course profile: what ncu tells is read, compared with the formula, shown and recorded."""

import json
import os
import sys
import unittest
from pathlib import Path
from unittest import mock

import cuda_tools
from course import cli, lessons, ncu, profile
from course.errors import InternalError, UsageError
from course_folder import NAME, TOML, CourseFolder

# Of ncu 2025.3 on an H200, without the columns of no interest here: --csv --page raw --print-units base.
RAW = (Path(__file__).parent / "ncu_raw.csv").read_text(encoding="utf-8")
FORMULA = {"read_bytes": 12_582_912, "written_bytes": 8_388_608}
COUNT = FORMULA | {"read_sectors": 393_216, "written_sectors": 262_144}
KERNELS = ["copy_kernel<2>", "plain_kernel"]
COUNT["kernels"] = [
    {"name": "copy_kernel<2>", **dict.fromkeys(("read_bytes", "written_bytes"), 4_194_304)},
    {"name": "plain_kernel", "read_bytes": 8_388_608, "written_bytes": 4_194_304},
]
SHARED = [
    {
        "array": "k_tile",
        "loads": {"requests": 1_024, "passes": 32_768, "conflicts": 31_744},
        "stores": {"requests": 0, "passes": 0, "conflicts": 0},
    }
]


class Counters(unittest.TestCase):
    def test_each_kernel_is_read(self):
        first, second = ncu.parse(RAW)
        self.assertEqual((first.name, second.name), ("copy_kernel", "plain_kernel"))
        self.assertEqual(
            second.values,
            {
                "read_bytes": 8_388_608,
                "written_bytes": 4_194_304,
                "read_sectors": 262_144,
                "written_sectors": 131_072,
                "dram_read_bytes": 8_391_424,
                "dram_written_bytes": 0,
                "loads_conflicts": 31_744,
                "stores_conflicts": 0,
                "nanoseconds": 5_344,
            },
        )

    def test_what_asynchronous_copies_read_is_read_too(self):
        names, units, *kernels = [line for line in RAW.splitlines() if line.startswith('"')]
        for told, copied in (("655,360", 655_360), ("n/a", 0), ("", 0)):
            with self.subTest(told):
                rows = [f'{names},"{ncu.COPIED_BYTES}"', f'{units},"byte"', *(f'{row},"{told}"' for row in kernels)]
                self.assertEqual(ncu.parse("\n".join(rows))[1].values["read_bytes"], 8_388_608 + copied)

    def test_what_is_not_there_is_named(self):
        for told, message in (
            ("==PROF== Disconnected\n", "no kernel"),
            (RAW.replace("dram__bytes_read.sum", "dram__other.sum"), "all that was asked for"),
            (RAW.replace('"byte"', '"Kbyte"'), "in Kbyte, and not in byte"),
            (RAW.replace('"8,388,608"', '"n/a"'), "'n/a', which is not a number"),
        ):
            with self.subTest(message), self.assertRaisesRegex(InternalError, message):
                ncu.parse(told)


class Profiled(CourseFolder):
    def setUp(self):
        super().setUp()
        self.write(f"lessons/{NAME}/lesson.toml", TOML.replace(".cpp", ".cu"))
        self.write(f"lessons/{NAME}/profile.cpp", "")
        self.lesson = lessons.load(self.root)[0]
        self.machine(has_gpu=False)

    def machine(self, has_gpu=True, tools=("nvcc", "ncu")):
        """A GPU and its tools, or less than that. The ncu is a script that tells RAW and runs the program."""
        self.script(
            "ncu",
            f"report = sys.argv[sys.argv.index('--log-file') + 1]\nopen(report, 'w').write({RAW!r})\n"
            "os.execv(sys.argv[-11], sys.argv[-11:])",
        )
        paths = {name: str(self.root / name) for name in tools}
        for name, value in (
            ("find", paths.get),
            ("has_gpu", lambda: has_gpu),
            ("gpus", lambda: ["NVIDIA H200, 580.159.04"] if has_gpu else []),
            ("version", {"nvcc": "13.0", "ncu": "2025.3.1.0"}.get),
        ):
            self.enterContext(mock.patch.object(cuda_tools, name, value))

    def script(self, name, text):
        self.write(name, f"#!{sys.executable}\nimport json, os, sys\n{text}\n")
        (self.root / name).chmod(0o755)
        return self.root / name

    def run_profile(self, *arguments, formula=FORMULA, count=COUNT, kernels=KERNELS, ends=""):
        """With a profile_01 that tells this; the one of the CUDA build counts nothing."""

        def program(build, kind, lesson, exercise):
            mine = count if build.preset == "cpu" else None
            line = json.dumps({"shape": {}, "format": "fp16", "kernels": kernels, "formula": formula, "count": mine})
            return self.script(f"{kind}_{build.preset}", f"print('hello')\nprint({line!r})\n{ends}")

        self.said.clear()
        with mock.patch.object(profile, "build_program", program), mock.patch("course.screen.setup"):
            return cli.run(["profile", "1", *arguments], self.root)

    def test_without_a_gpu_formula_and_emulator(self):
        self.assertEqual(self.run_profile(), 0)
        self.assertIn("Br = 32, Bc = 32, fp16\n", self.output())
        self.assertRegex(self.output(), r"formula +12,582,912 +8,388,608\n")
        self.assertRegex(self.output(), r"emulator +12,582,912 +8,388,608 +393,216 +262,144\n")
        self.assertIn("The emulator's count equals the formula", self.output())
        self.assertIn("The GPU's counters were not read: there is no GPU.\n", self.output())

    def test_the_banks_of_shared_memory_where_they_were_counted(self):
        self.run_profile()
        self.assertNotIn("conflict", self.output())
        first, second = COUNT["kernels"]
        self.run_profile(count=COUNT | {"kernels": [first | {"shared": []}, second | {"shared": SHARED}]})
        self.assertRegex(self.output(), r"shared memory +requests +passes +conflicts\n  plain_kernel\n")
        self.assertRegex(self.output(), r"\n  k_tile, loads +1,024 +32,768 +31,744\n\n")
        self.assertNotIn("k_tile, stores", self.output())
        self.assertIn("A conflict is a pass more", self.output())

    def test_the_conflicts_that_a_gpu_counted_beside_the_emulators(self):
        self.machine()
        first, second = COUNT["kernels"]
        self.run_profile(count=COUNT | {"kernels": [first, second | {"shared": SHARED}]})
        self.assertRegex(
            self.output(), r"\n  all loads +31,744\n    on the GPU +31,744\n  all stores +0\n    on the GPU +0\n"
        )

    def test_without_ncu(self):
        self.machine(tools=("nvcc",))
        self.assertEqual(self.run_profile(), 0)
        self.assertIn("there is no ncu.\n", self.output())

    def test_with_a_gpu_all_three(self):
        self.machine()
        self.assertEqual(self.run_profile(), 0)
        output = self.output()
        self.assertRegex(output, r"GPU +12,582,912 +8,388,608 +393,216 +262,144\n")
        self.assertRegex(output, r"GPU's DRAM +12,588,544 +0\n")
        self.assertRegex(output, r"off by +\+0\.0% +-100\.0%\n")
        self.assertRegex(output, r"copy_kernel<2>\n +emulator +4,194,304 +4,194,304\n +GPU +4,194,304 ")
        self.assertIn("The GPU's count equals the formula", output)

    def test_a_difference_is_not_right(self):
        wrong = FORMULA | {"read_bytes": 12_582_908}
        self.assertEqual(self.run_profile(formula=wrong), 1)
        self.assertIn("The emulator's count does NOT equal the formula", self.output())
        self.machine()
        self.assertEqual(self.run_profile(formula=wrong, count=COUNT | wrong), 1)
        self.assertIn("The emulator's count equals", self.output())
        self.assertIn("The GPU's count does NOT equal the formula", self.output())

    def test_a_large_shape_is_for_a_gpu_alone(self):
        with self.assertRaisesRegex(InternalError, "would take the emulator too long"):
            self.run_profile("--large")
        self.machine()
        self.assertEqual(self.run_profile("--large"), 0)
        self.assertIn("264 heads, N = 2048", self.output())
        self.assertIn("The emulator did not run", self.output())
        self.assertNotRegex(self.output(), "\n  emulator")

    def test_other_kernels_than_those_that_are_told_are_named(self):
        self.machine()
        with self.assertRaisesRegex(InternalError, "other kernels") as caught:
            self.run_profile(kernels=KERNELS[::-1])
        self.assertIn("run:  copy_kernel, plain_kernel", caught.exception.details)

    def test_kernels_of_a_library_do_not_count(self):
        found = profile.of_lesson([ncu.Kernel("fill", {}), ncu.Kernel("copy_kernel", {})], ["copy_kernel<2>"])
        self.assertEqual(found, [ncu.Kernel("copy_kernel", {})])

    def test_the_shape_reaches_the_program(self):
        self.run_profile("--n", "100", "--bc", "16", "--causal", ends="print(sys.argv[1:], file=sys.stderr)")
        log = (self.root / ".course/logs/profile.log").read_text()
        self.assertIn("--heads 1 --n 100 --d 64 --br 32 --bc 16 --causal", log)
        with self.assertRaisesRegex(UsageError, "--n 0: must be at least 1"):
            self.run_profile("--n", "0")

    def test_a_shape_after_the_dashes_is_refused(self):
        for flags in (["--n", "100"], ["--n=100"], ["--causal"]):
            with self.assertRaisesRegex(UsageError, f"{flags[0]} after --: .* Put it before --"):
                self.run_profile("--", *flags)

    def test_what_follows_two_dashes_goes_to_the_program_before_the_shape(self):
        ends = "print(sys.argv[1:3], file=sys.stderr)"
        self.assertEqual(self.run_profile("--n", "100", "--", "--standard", ends=ends), 0)
        self.assertIn("['--standard', '--heads']", (self.root / ".course/logs/profile.log").read_text())
        self.assertIn("Bc = 32, fp16, --standard\n", self.output())

    def test_a_lesson_may_have_tiles_of_its_own(self):
        own = TOML.replace(".cpp", ".cu").replace("needs", "tiles = {br = 64, bc = 16}\nneeds")
        self.write(f"lessons/{NAME}/lesson.toml", own)
        self.run_profile("--bc", "8", ends="print(sys.argv[1:], file=sys.stderr)")
        self.assertIn("--d 64 --br 64 --bc 8", (self.root / ".course/logs/profile.log").read_text())

    def test_a_shape_that_the_program_refuses(self):
        with self.assertRaises(UsageError) as caught:
            self.run_profile(ends="print('too much shared memory'); sys.exit(2)")
        self.assertIn("too much shared memory", caught.exception.details)

    def test_an_exercise_that_fails_is_not_right(self):
        ends = "sys.exit('not started: Step 1')"
        self.assertEqual(self.run_profile("--exercise", ends=ends), 1)
        self.assertIn("not started: Step 1\nIs your file right? ./course check 01\n", self.output())
        with self.assertRaisesRegex(InternalError, "exit code 1"):
            self.run_profile(ends=ends)

    def test_a_program_that_fails_under_ncu_is_heard(self):
        self.machine()
        self.script(
            "ncu",
            "open(sys.argv[sys.argv.index('--log-file') + 1], 'w').write('==ERROR== an error code (1)')\n"
            "sys.exit('wrong in head 0')",
        )
        with self.assertRaisesRegex(InternalError, "exit code 1") as caught:
            self.run_profile("--large")
        self.assertEqual(caught.exception.details, ("==ERROR== an error code (1)", "wrong in head 0"))

    def test_an_exercise_that_fails_under_ncu_is_not_right(self):
        self.machine()
        self.script(
            "ncu",
            "open(sys.argv[sys.argv.index('--log-file') + 1], 'w').write("
            "'==ERROR== The application returned an error code (1).')\nsys.exit('not started: Step 1')",
        )
        self.assertEqual(self.run_profile("--large", "--exercise"), 1)
        self.assertIn("not started: Step 1\nIs your file right?", self.output())

    def test_with_a_gpu_the_emulator_may_be_missing(self):
        with mock.patch.object(profile, "run", side_effect=InternalError("CMake could not configure the course.")):
            with self.assertRaisesRegex(InternalError, "CMake"):
                profile.emulate(self.lesson, False, [], profile.Shape(), needed=True)
            self.assertIsNone(profile.emulate(self.lesson, False, [], profile.Shape(), needed=False))
        self.assertIn("going on without the emulator's count", self.output())

    def test_ncu_that_may_not_read_the_counters(self):
        self.machine()
        denied = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"
        self.script("ncu", f"open(sys.argv[sys.argv.index('--log-file') + 1], 'w').write({denied!r})")
        with self.assertRaisesRegex(InternalError, "may not read the GPU's counters"):
            self.run_profile()

    def test_a_record(self):
        self.machine()
        file = self.root / "plots" / "run.json"
        with mock.patch.dict(os.environ, {"COURSE_COMMIT": "abc1234"}):
            self.run_profile("--json", str(file))
        data = json.loads(file.read_text())
        self.assertEqual((data["commit"], data["gpu"], data["driver"]), ("abc1234", "NVIDIA H200", "580.159.04"))
        self.assertEqual((data["cuda"], data["ncu"], data["implementation"]), ("13.0", "2025.3.1.0", "solution"))
        self.assertEqual((data["formula"], data["emulator"], data["shape"]["n"]), (FORMULA, COUNT, 512))
        self.assertEqual(data["hardware"]["dram_read_bytes"], 12_588_544)
        self.assertEqual(data["hardware"]["kernels"][1]["name"], "plain_kernel")
        self.run_profile("--json", str(file), "--commit", "def")
        self.assertEqual(json.loads(file.read_text())["commit"], "def")

    def test_a_program_that_tells_nothing(self):
        for output in ("", "{", '{"formula": {"read_bytes": 1}, "count": null}', "[]"):
            with self.subTest(output), self.assertRaisesRegex(InternalError, "did not tell"):
                profile.told(output)

    def test_a_lesson_without_a_profile(self):
        (self.lesson.folder / "profile.cpp").unlink()
        with self.assertRaisesRegex(UsageError, "nothing to profile"):
            self.run_profile()


if __name__ == "__main__":
    unittest.main()
