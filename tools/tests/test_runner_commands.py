"""The command line, the place of an exercise, the build folder's state."""

import os
import signal
import subprocess
import sys
import unittest
from unittest import mock

from course import bench, check, cli, screen, suite
from course.build import Build
from course.errors import InternalError, UsageError
from course_folder import CourseFolder, gone


class CommandLine(CourseFolder):
    def run_course(self, *arguments):
        with mock.patch("course.screen.setup"):
            return cli.run(list(arguments), self.root)

    def test_what_is_not_understood_is_a_usage_error(self):
        for arguments in (
            ["chek"],
            ["check", "7"],
            ["check", "--step", "x"],
            ["check", "1", "--step", "9"],
            ["check", "1", "--limit", "0"],
            ["solution"],
            ["reset", ""],
            ["hint", "--", "x"],
        ):
            with self.subTest(arguments), self.assertRaises(UsageError):
                self.run_course(*arguments)

    def test_a_near_miss_is_guessed(self):
        with self.assertRaisesRegex(UsageError, "Did you mean check"):
            self.run_course("chek")

    def test_global_flags_may_stand_anywhere_before_the_dashes(self):
        self.assertEqual(cli._global_flags(["solution", "1", "--yes"]), (["solution", "1"], False, True))
        self.assertEqual(
            cli._global_flags(["bench", "1", "--", "--plain"]), (["bench", "1", "--", "--plain"], False, False)
        )

    def test_the_map_runs_nothing(self):
        with mock.patch("subprocess.Popen", side_effect=AssertionError):
            self.assertEqual(self.run_course(), 0)
        self.assertIn("Naive attention", self.output())

    def test_brackets_and_colons_are_printed_as_they_are(self):
        message = "out[b=0, h=1] [bold]x[/bold] :smile: expected 0.25"
        screen.say(message)
        self.assertEqual(self.output(), message + "\n")


class MissingExercise(CourseFolder):
    def test_it_is_named_with_a_way_to_get_it_back(self):
        self.exercise.unlink()
        for git, advice in ((False, "fresh download"), (True, "./course reset 01")):
            if git:
                (self.root / ".git").mkdir()
            for command in (lambda: bench.bench(self.lesson, True, []), self.lesson.fingerprint):
                with self.assertRaises(UsageError) as caught:
                    command()
                self.assertIn(self.lesson.exercise, caught.exception.message)
                self.assertIn(advice, caught.exception.details[0])

    def test_what_is_there_in_its_place_is_not_read(self):
        self.exercise.unlink()
        self.exercise.mkdir()
        with self.assertRaisesRegex(UsageError, f"^{self.lesson.exercise} is not a file: move it away.$"):
            self.lesson.fingerprint()
        self.exercise.rmdir()
        os.mkfifo(self.exercise)  # without a writer, reading it would never end
        with self.assertRaisesRegex(UsageError, "is not a file"):
            self.lesson.fingerprint()
        self.exercise.unlink()
        self.exercise.symlink_to(self.exercise.name)
        with self.assertRaisesRegex(UsageError, f"^{self.lesson.exercise} cannot be read: Too many levels"):
            self.lesson.fingerprint()


class Encoding(CourseFolder):
    def test_one_that_no_compiler_reads_is_named_before_anything_is_built(self):
        built = AssertionError("built")
        wrong = (UsageError, "attention_forward.cpp is encoded as UTF-16, .* save it as UTF-8.$")
        for encoding, raised in (
            ("utf-16", wrong),
            ("utf-8-sig", (AssertionError, "built")),
            ("utf-8", (AssertionError, "built")),
        ):
            self.exercise.write_bytes("int α;".encode(encoding))
            with mock.patch.object(check, "Build", side_effect=built), self.assertRaisesRegex(*raised):
                check.check(self.lesson)


class Benchmark(CourseFolder):
    def measure(self, program, *arguments):
        script = self.root / "bench"
        script.write_text(f"#!{sys.executable}\n{program}\n")
        script.chmod(0o755)
        return bench._raw(script, list(arguments), self.root), bench._table(script, list(arguments), self.root)

    def test_its_exit_code_is_ours(self):
        self.assertEqual(self.measure("import sys; sys.exit(3)"), (3, 3))
        self.assertEqual(self.measure("import os; os.kill(os.getpid(), 9)"), (137, 137))
        self.assertIn("-- --benchmark_filter=REGEX", self.output())

    def test_without_results_it_is_not_done(self):
        self.assertEqual(self.measure("print('Failed to match any benchmarks')"), (0, 1))
        self.assertIn("Failed to match any benchmarks\n", self.output())

    def test_a_step_that_is_not_written_is_said_in_a_line(self):
        program = "print('standard/N:64   ' + 'x' * 200); print('not started: Step 5: kernels'); raise SystemExit(1)"
        script = self.root / "bench"
        script.write_text(f"#!{sys.executable}\n{program}\n")
        script.chmod(0o755)
        self.assertEqual(bench._table(script, ["-"], self.root), 1)
        self.assertEqual(self.output(), "measuring ...\nnot started: Step 5: kernels\n")

    def test_ctrl_c_ends_it(self):
        # As the terminal does it: the whole foreground group gets the signal.
        program = (
            "import signal, sys; from pathlib import Path; from course import __main__, bench\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # where these tests run behind a shell's &
            "__main__.cli.run = lambda arguments: bench.run(['sh', '-c', 'echo $$; exec sleep 60'], Path('.'))\n"
            "sys.exit(__main__.main())"
        )
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", program]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, process_group=0
        ) as runner:
            child = int(runner.stdout.readline())
            os.killpg(runner.pid, signal.SIGINT)
            self.assertEqual(runner.wait(20), 130)
            self.assertEqual(runner.stderr.read(), b"\ninterrupted\n")
        self.assertTrue(gone(child))


class BuildFolder(CourseFolder):
    def stale(self, cache):
        self.write("build/cpu/CMakeCache.txt", cache)
        self.write("build/cpu/build.ninja", "")
        return Build(self.root).stale()

    def test_a_sound_cache(self):
        self.assertEqual(
            self.stale(f"CMAKE_HOME_DIRECTORY:INTERNAL={self.root}\nCMAKE_CXX_COMPILER:FILEPATH={sys.executable}\n"), ""
        )

    def test_stale_ones(self):
        for cache, reason in (
            ("CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n", "/elsewhere"),
            (f"CMAKE_HOME_DIRECTORY:INTERNAL={self.root}\nCMAKE_CXX_COMPILER:FILEPATH=/usr/bin/g++-99\n", "g++-99"),
            ("CMAKE_HO", "damaged"),
        ):
            with self.subTest(reason):
                self.assertIn(reason, self.stale(cache))

    def test_two_runners_take_turns(self):
        program = (
            "import sys; from pathlib import Path; from course import screen, locks; screen.setup(True)\n"
            "with locks.build_folder(Path(sys.argv[1]), 'cpu'): print('in', flush=True); sys.stdin.readline(); print('out')"
        )
        command = [sys.executable, "-c", program, str(self.root)]
        pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(command, text=True, env=environment, **pipes) as first:
            self.assertEqual(first.stdout.readline(), "in\n")
            with subprocess.Popen(command, text=True, env=environment, **pipes) as second:
                self.assertIn("waiting", second.stderr.readline())
                self.assertEqual(first.communicate("\n", timeout=20)[0], "out\n")
                self.assertEqual(second.communicate("\n", timeout=20)[0], "in\nout\n")


class Suite(CourseFolder):
    def test_counts_are_those_of_ctest(self):
        self.write("ctest.xml", '<testsuite name="x" tests="12" failures="2" disabled="0" skipped="1"></testsuite>')
        self.assertEqual(suite.count(self.root / "ctest.xml", ""), (9, 2, 1))

    def test_what_fails_is_shown_whole_and_nothing_else(self):
        failed = "2/255 Test   #2: 05/solution/b ...***Failed    0.01 sec"
        for line in (
            "Test project /course/build/cpu",
            "        Start   1: 05/solution/a",
            "  1/255 Test   #1: 05/solution/a ...   Passed    0.01 sec",
            failed,
            "b.cpp:3: FAILED:",
            "  3/255 Test   #3: device/c ...***Skipped   0.01 sec",
            "",
            "100% tests passed, 0 tests failed out of 255",
        ):
            suite._show(line, lambda done, total: None)
        self.assertEqual(self.output(), f"{failed}\nb.cpp:3: FAILED:\n")

    def test_a_line_for_each_program(self):
        cases = (
            '<testcase name="05/solution/e^(s - m) / l" status="run"/><testcase name="05/solution/b" status="fail"/>'
            '<testcase name="reference/x" status="run"/><testcase name="device/y" status="notrun"><skipped/></testcase>'
        )
        self.write("ctest.xml", f"<testsuite>{cases}</testsuite>")
        self.assertEqual(
            suite.by_program(self.root / "ctest.xml"),
            ["05/solution  1 passed, 1 failed", "reference    1 passed", "device       1 skipped"],
        )

    def test_no_count_is_an_error(self):
        with self.assertRaises(InternalError):
            suite.count(self.root / "nothing.xml", "ctest: it broke\n")


if __name__ == "__main__":
    unittest.main()
