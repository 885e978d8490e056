"""The command line, child processes, the build folder's state, the demonstration's arithmetic."""

import math
import os
import subprocess
import sys
import time
import unittest
from unittest import mock

from course import cli, demo_invariant, process, screen, suite
from course.build import Build
from course.errors import InternalError, UsageError
from course_folder import CourseFolder

NAN, INF = math.nan, math.inf


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


class Children(CourseFolder):
    def limited(self, program, seconds=20):
        return process.limited([sys.executable, "-c", program], self.root, seconds)

    def test_code_and_streams(self):
        done = self.limited(
            "import sys; print('a'); print('b', file=sys.stderr); open(sys.argv[2], 'w').write('c'); sys.exit(3)"
        )
        self.assertEqual(
            (done.code, done.stdout, done.stderr, done.report, done.timed_out), (3, "a\n", "b\n", "c", False)
        )

    def test_a_time_limit_ends_the_children_too(self):
        start = time.monotonic()
        done = self.limited(
            "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()", 1
        )
        self.assertTrue(done.timed_out)
        self.assertLess(time.monotonic() - start, 10)
        self.assertTrue(_gone(int(done.stdout)))

    def test_a_flood_of_output_is_ended(self):
        self.assertLess(
            self.limited(
                "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nwhile True: print('x' * 100000)"
            ).code,
            0,
        )

    def test_ctrl_c_ends_the_build_tool(self):
        seen = []

        def interrupt(line):
            seen.append(int(line))
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            process.stream(
                [sys.executable, "-u", "-c", "import os, time; print(os.getpid()); time.sleep(60)"],
                self.root,
                self.root / "log",
                interrupt,
            )
        self.assertTrue(_gone(seen[0]))

    def test_a_missing_tool_is_named(self):
        with self.assertRaisesRegex(InternalError, "no-such-tool is not installed"):
            process.stream(["no-such-tool"], self.root, self.root / "log")


def _gone(pid):
    for _ in range(50):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().split(")")[1].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.1)
    return False


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
            "import sys, time; from pathlib import Path; from course import screen, locks; screen.setup(True)\n"
            "with locks.build_folder(Path(sys.argv[1]), 'cpu'): print('in', flush=True); time.sleep(float(sys.argv[2])); print('out', flush=True)"
        )
        command = [sys.executable, "-c", program, str(self.root)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen([*command, "1"], stdout=subprocess.PIPE, text=True, env=environment) as first:
            self.assertEqual(first.stdout.readline(), "in\n")
            second = subprocess.run([*command, "0"], capture_output=True, text=True, env=environment, timeout=20)
            self.assertEqual(first.stdout.readline(), "out\n")
        self.assertIn("waiting", second.stderr)
        self.assertEqual(second.stdout, "in\nout\n")


class Suite(CourseFolder):
    def test_counts_are_those_of_ctest(self):
        self.write("ctest.xml", '<testsuite name="x" tests="12" failures="2" disabled="0" skipped="1"></testsuite>')
        self.assertEqual(suite.count(self.root / "ctest.xml", ""), (9, 2, 1))

    def test_no_count_is_an_error(self):
        with self.assertRaises(InternalError):
            suite.count(self.root / "nothing.xml", "ctest: it broke\n")


class Invariant(unittest.TestCase):
    def test_flags(self):
        self.assertEqual(
            demo_invariant.parse(["--scores", "-1,2", "--values=-3,4", "--tile", "1"]), ("-1.0,2.0", "-3.0,4.0", 1)
        )
        self.assertEqual(
            demo_invariant.parse(["--scores", "-inf,nan,-1e4", "--values", "1,2,3"])[0], "-inf,nan,-10000.0"
        )

    def test_bad_flags_name_the_flag_and_the_value(self):
        for arguments in (
            ["--scores", "1,x,3"],
            ["--scores", ""],
            ["--scores", "1,,3"],
            ["--scores", "1,2"],
            ["--values", "1,inf,2"],
            ["--tile", "0"],
            ["--tile", "-1"],
            ["--tile", "1.5"],
            ["--tile", "²"],
        ):
            with self.subTest(arguments), self.assertRaises(UsageError) as caught:
                demo_invariant.parse(arguments)
            if "1,2" not in arguments:
                self.assertIn(f"{arguments[0]} '{arguments[1]}'", caught.exception.message)

    def test_difference(self):
        state = {"m": 2.0, "l": 1.5, "u": 0.0, "output": 0.0}

        def difference(one, other):
            return demo_invariant.difference(one, other, 4.0)

        self.assertEqual(difference(state, dict(state)), 0)
        self.assertAlmostEqual(difference(state | {"l": 1.5 * (1 + 1e-9)}, state), 1e-9, 12)
        self.assertAlmostEqual(difference(state | {"u": 6e-9}, state), 1e-9, 12)  # a sum that cancels
        self.assertEqual(difference(state | {"l": NAN}, state), INF)
        self.assertEqual(difference(state | {"l": NAN}, state | {"l": NAN}), 0)
        self.assertEqual(difference(state | {"m": -INF}, state), INF)

    def test_a_broken_invariant_is_told_and_is_not_success(self):
        state = {"m": 2, "l": 1.4, "u": 2, "output": 1.5}
        row = {"tile": [2, 1], "keys_seen": 2, "rescale": None} | state
        row |= {f"{name}_exact": value for name, value in state.items()}
        screen.setup(plain=True)

        def shown(*rows):
            return demo_invariant.show([{"name": "an order", "rows": [one]} for one in rows], 3.0)

        with mock.patch("course.screen.console"):
            self.assertEqual(shown(row, row), 0)
            self.assertEqual(shown(row | {"l": 1.3}, row), 1)
            self.assertEqual(shown(row, row | {"m": "-inf", "m_exact": "-inf"}), 1)


if __name__ == "__main__":
    unittest.main()
