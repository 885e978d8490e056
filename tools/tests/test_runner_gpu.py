"""--gpu: what it needs, and what is said where that is missing. Lessons whose file is a .cu."""

import unittest
from unittest import mock

import cuda_tools
from course import check, cli, doctor, gpu, lessons, overview, process, reset, solution, suite
from course.build import Build, Built
from course.errors import InternalError, UsageError
from course_folder import NAME, SOLUTION, STUB, TOML, CourseFolder

CUDA_LESSON = "05_standard_cuda"
SKIP_MACRO = "test.cpp:9: SKIPPED:\nexplicitly with message:\n  only the emulator counts\n"
SKIPPED = "skipped: no CUDA device: the driver is too old\n"


class CudaCourse(CourseFolder):
    def setUp(self):
        super().setUp()
        self.write(f"lessons/{CUDA_LESSON}/lesson.toml", TOML.replace(".cpp", ".cu"))
        self.write(f"lessons/{CUDA_LESSON}/test.cpp", "// tests\n")
        self.write(f"exercises/{CUDA_LESSON}/attention_forward.cu", STUB)
        self.write(f"solutions/{CUDA_LESSON}/attention_forward.cu", SOLUTION)
        self.cpp, self.cuda = lessons.load(self.root)

    def machine(self, nvcc=True, has_gpu=True):
        self.enterContext(mock.patch.object(cuda_tools, "find", return_value="/cuda/bin/nvcc" if nvcc else None))
        self.enterContext(mock.patch.object(cuda_tools, "has_gpu", return_value=has_gpu))


class WhatItNeeds(CudaCourse):
    def test_the_build_folder_is_that_of_the_preset_cuda(self):
        self.machine()
        build = gpu.build_to_run(self.cuda, "check")
        self.assertEqual(build.folder, self.root / "build/cuda")
        self.assertEqual(build.variables, ("-DCMAKE_CUDA_ARCHITECTURES=native",))

    def test_without_a_gpu_all_architectures_are_compiled(self):
        self.machine(has_gpu=False)
        self.assertEqual(gpu.build(self.root).variables, ())

    def test_cmake_is_told(self):
        with mock.patch.object(process, "stream", return_value=(0, "")) as ran:
            Build(self.root, "cuda", ("-DX=1",))._cmake("--fresh")
        self.assertEqual(ran.call_args.args[0], ["cmake", "--preset", "cuda", "-DX=1", "--fresh"])

    def test_no_nvcc(self):
        self.machine(nvcc=False)
        with self.assertRaisesRegex(InternalError, "nvcc was not found") as caught:
            gpu.build_to_run(self.cuda, "check")
        self.assertIn("runs CUDA code on the CPU", caught.exception.details[0])

    def test_no_gpu(self):
        self.machine(has_gpu=False)
        with self.assertRaisesRegex(InternalError, "No GPU") as caught:
            gpu.build_to_run(self.cuda, "bench")
        self.assertIn("./course bench 05", caught.exception.details[0])

    def test_a_lesson_for_the_cpu(self):
        self.machine()
        for command in (["check", "1", "--gpu"], ["bench", "1", "--gpu"]):
            with self.subTest(command), self.assertRaisesRegex(UsageError, "not written in CUDA"):
                with mock.patch("course.screen.setup"):
                    cli.run(command, self.root)

    def test_the_sanitizers_are_for_the_cpu(self):
        with self.assertRaisesRegex(UsageError, "--sanitize"):
            check.check(self.cuda, sanitize=True, on_gpu=True)

    def test_without_a_gpu_it_is_compiled_and_never_right(self):
        run = process.Finished(4, [], SKIPPED, "")
        for has_gpu in (False, True):  # the program may not be able to use the one that is there
            self.machine(has_gpu=has_gpu)
            with (
                self.subTest(has_gpu),
                mock.patch.object(Build, "target", return_value=Built(True, "")) as built,
                mock.patch.object(process, "limited", return_value=run),
            ):
                self.said.clear()
                self.assertEqual(check.check(self.cuda, on_gpu=True), 1)
                built.assert_called_once()
                self.assertIn("    step 2  Softmax  skipped\n", self.output())
                self.assertIn("It compiles. No test ran, for want of a GPU: the driver is too old", self.output())
                self.assertIn("verdict: skipped  no test ran (", self.output())

    def test_what_is_remembered_is_the_emulators_verdict(self):
        self.machine()
        everything = {str(step): "right" for step in (1, 2)}
        found = mock.Mock(word="right", steps=[])
        with (
            mock.patch.object(Build, "target", return_value=Built(True, "")),
            mock.patch.object(check, "_test", return_value=found),
            mock.patch.object(check.report, "tested"),
        ):
            self.assertEqual(check.check(self.cuda, on_gpu=True), 0)
            self.assertIsNone(self.state.verdict(self.cuda))
            self.assertIn("right on the emulator, too: ./course check 05", self.output())
            check.progress.remember(self.state, self.cuda, self.cuda.fingerprint(), "right", everything, None)
            self.said.clear()
            self.assertEqual(check.check(self.cuda, on_gpu=True), 0)
            self.assertNotIn("emulator", self.output())

    def test_a_cache_whose_nvcc_is_gone_is_stale(self):
        self.write(
            "build/cuda/CMakeCache.txt",
            f"CMAKE_HOME_DIRECTORY:INTERNAL={self.root}\nCMAKE_CUDA_COMPILER:FILEPATH=/gone/nvcc\n",
        )
        self.assertIn("/gone/nvcc", Build(self.root, "cuda").stale())


class Suite(CudaCourse):
    def run_suite(self, passed, skipped):
        cases = "".join(
            f'<testcase name="{number}"><skipped/><system-out>{said}</system-out></testcase>'
            for number, said in enumerate((SKIPPED, SKIPPED, SKIP_MACRO) if skipped else ())
        )
        xml = f'<testsuite tests="{passed + skipped}" failures="0" disabled="0" skipped="{skipped}">{cases}</testsuite>'
        build = Build(self.root, "cuda")

        def ctest(command, *_):
            self.write(".course/logs/ctest.xml", xml)
            return 0, ""

        with (
            mock.patch.object(Build, "target", return_value=Built(True, "")),
            mock.patch.object(process, "stream", side_effect=ctest),
        ):
            return suite.test(None, build)

    def test_what_was_skipped_is_not_passed(self):
        self.assertEqual(self.run_suite(passed=3, skipped=2), 0)
        self.assertIn("3 passed, 0 failed, 2 skipped\n", self.output())
        self.assertEqual(self.output().count("did not run: no GPU can be used here: the driver is too old.\n"), 1)
        self.assertIn("did not run: only the emulator counts\n", self.output())

    def test_if_all_were_skipped_that_is_no_success(self):
        self.assertEqual(self.run_suite(passed=0, skipped=2), 1)

    def test_if_there_were_none_the_counts_are_wrong(self):
        with self.assertRaises(InternalError):
            self.run_suite(passed=0, skipped=0)


class ACudaFile(CudaCourse):
    def test_it_is_on_the_map(self):
        overview.show([self.cpp, self.cuda], self.state)
        self.assertIn("05  Naive attention", self.output())

    def test_the_fingerprint_follows_the_file(self):
        before = self.cuda.fingerprint()
        self.write(self.cuda.exercise, SOLUTION)
        self.assertNotEqual(self.cuda.fingerprint(), before)

    def test_its_stub_comes_back(self):
        self.commit()
        self.write(self.cuda.exercise, "mine\n")
        self.assertEqual(reset.reset(self.cuda, self.state, yes=True), 0)
        self.assertEqual((self.root / self.cuda.exercise).read_text(), STUB)
        self.assertIn(f".course/kept/{CUDA_LESSON}/attention_forward.cu.", self.output())

    def test_its_solution_is_shown(self):
        self.assertEqual(solution.solution(self.cuda, self.state, yes=True), 0)
        self.assertIn(f"+++ solutions/{CUDA_LESSON}/attention_forward.cu", self.output())

    def test_an_older_file_put_back_is_built_again_in_every_folder(self):
        self.write("build/cuda/bin/test_exercise_01", "built")
        source = self.root / f"exercises/{NAME}/attention_forward.cpp"
        built = (self.root / "build/cuda/bin/test_exercise_01").stat().st_mtime_ns
        check._mind_old_timestamp(self.cpp, "test_exercise_01")
        self.assertGreaterEqual(source.stat().st_mtime_ns, built)

    def test_and_after_a_program_that_could_not_be_linked(self):
        source = self.root / self.cpp.exercise
        compiled = f"build/cpu/CMakeFiles/exercise_01.dir/{self.cpp.exercise}.o"
        self.write(compiled, "compiled")
        check._mind_old_timestamp(self.cpp, "test_exercise_01")
        self.assertGreaterEqual(source.stat().st_mtime_ns, (self.root / compiled).stat().st_mtime_ns)


class Doctor(CudaCourse):
    def test_what_is_not_there_is_told_with_what_it_would_bring(self):
        with (
            mock.patch.object(cuda_tools, "version", lambda name: "13.0" if name == "nvcc" else None),
            mock.patch.object(cuda_tools, "gpus", return_value=[]),
            mock.patch("bootstrap.report", return_value=[]),
        ):
            self.assertEqual(doctor.doctor(self.root), 0)
        self.assertRegex(self.output(), r"nvcc +13\.0\n")
        self.assertRegex(self.output(), r"GPU +not there\n +brings: ")
        self.assertRegex(self.output(), r"ncu +not there\n +brings: ./course profile")


if __name__ == "__main__":
    unittest.main()
