"""The sandbox of ./course grade, with programs that speak its language: see reference/fa/grading.h."""

import os
import sys
import threading
import time
import unittest

from course import grade_build, grade_sandbox
from course.errors import InternalError
from course.grade_sandbox import Draw, Limits
from course_folder import CourseFolder, gone

# Reads the tokens, as the harness does.
BEGIN = """\
import os, signal, sys, time
take, give = map(int, os.environ["FA_GRADING"].split(","))
with open(take) as pipe:
    tokens = {line.split(" ", 1)[1].strip(): line.split(" ", 1)[0] for line in pipe}
say = lambda line: os.write(give, line.encode() + b"\\n")
say("ready")
"""
NAMES = ["sums are right", "rows sum to 1"]


class Programs(CourseFolder):
    def run_tests(self, program, seconds=20, memory=2048, begin=BEGIN, cases=0):
        binary = self.root / "program"
        binary.write_text(f"#!{sys.executable}\n{begin}{program}\n")
        binary.chmod(0o755)
        return grade_sandbox.tests(binary, 1, NAMES, self.root, Limits(seconds, memory), Draw(7, cases))

    def test_only_the_token_of_a_test_vouches_for_it(self):
        ran = self.run_tests(f"say(tokens['{NAMES[1]}'])")
        self.assertEqual((ran.ready, ran.passed, ran.stop), (True, {NAMES[1]}, ""))
        guesses = "say('passed'); say('0' * 32); say(NAME); say('x' + tokens[NAME])".replace("NAME", repr(NAMES[0]))
        self.assertEqual(self.run_tests(guesses).passed, set())

    def test_tokens_are_new_each_time_and_for_each_test(self):
        told = [
            self.run_tests("say('failed tokens\\t' + ' '.join(tokens.values()))").failed["tokens"] for _ in range(2)
        ]
        self.assertEqual(len(set(" ".join(told).split())), 4)

    def test_the_first_failure_of_a_test_is_told_in_its_lines(self):
        ran = self.run_tests("say('began b'); say('failed a\\tone\\\\ntwo'); say('failed a\\tthree')")
        self.assertEqual((ran.failed, ran.began), ({"a": "one\ntwo"}, ["b"]))

    def test_an_end_before_the_harness_is_ready(self):
        self.assertFalse(self.run_tests("", begin="raise SystemExit(0)").ready)
        refused = BEGIN.replace('say("ready")', 'say("no sandbox: Function not implemented")')
        self.assertIn("not implemented", self.run_tests("", begin=refused).refused)
        self.assertEqual(self.run_tests("say('no sandbox: a lie')").refused, "")

    def test_a_loop_and_what_it_has_started_are_ended(self):
        start = time.monotonic()
        ran = self.run_tests(
            "import subprocess; p = subprocess.Popen(['sleep', '60']); say(f'failed pid\\t{p.pid}'); p.wait()", 2
        )
        self.assertIn("ended after 2 s", ran.stop)
        self.assertLess(time.monotonic() - start, 30)
        self.assertTrue(gone(int(ran.failed["pid"])))

    def test_an_interruption_ends_what_runs_and_starts_nothing_more(self):
        self.addCleanup(grade_sandbox._ended.clear)
        interrupt = threading.Timer(1, grade_sandbox.end_all)
        interrupt.start()
        start = time.monotonic()
        self.assertIn("ended by the system", self.run_tests("time.sleep(60)", 40).stop)
        self.assertLess(time.monotonic() - start, 30)
        with self.assertRaisesRegex(InternalError, "interrupted"):
            self.run_tests("")

    def test_a_closed_pipe_is_no_end(self):
        self.assertIn("ended after 2 s", self.run_tests("os.close(give); time.sleep(60)", 2).stop)

    def test_crashes_are_named(self):
        self.assertIn("SIGSEGV", self.run_tests("os.kill(os.getpid(), signal.SIGSEGV)").stop)

    def test_memory_files_and_answers_are_limited(self):
        ran = self.run_tests("try:\n  b'x' * (300 << 20)\nexcept MemoryError: say('failed memory\\tnone')", memory=256)
        self.assertEqual(ran.failed, {"memory": "none"})
        self.assertIn(
            "SIGXFSZ", self.run_tests("signal.signal(signal.SIGXFSZ, signal.SIG_DFL); open('f', 'w').write('x')").stop
        )
        self.run_tests("for _ in range(4000): os.write(give, b'x' * 1000)")  # comes to an end

    def test_the_environment_is_not_the_instructors(self):
        os.environ["SECRET_OF_THE_INSTRUCTOR"] = "1"
        self.addCleanup(os.environ.pop, "SECRET_OF_THE_INSTRUCTOR")
        ran = self.run_tests("say('failed names\\t' + ' '.join(sorted(os.environ)))")
        self.assertEqual(set(ran.failed["names"].split()) - {"PWD", "OLDPWD", "SHLVL", "_"}, {
            "FA_GRADING", "FA_SEED", "FA_SIMT_WORKERS", "HOME", "LC_ALL", "PATH", "TMPDIR"
        })  # fmt: skip

    def test_the_number_of_random_cases_is_passed_on_if_there_is_one(self):
        say = "say('failed cases\\t' + os.environ.get('FA_RANDOM_CASES', 'those of the lesson'))"
        self.assertEqual(self.run_tests(say).failed["cases"], "those of the lesson")
        self.assertEqual(self.run_tests(say, cases=300).failed["cases"], "300")


class Tools(CourseFolder):
    def tool(self, *command, seconds=20):
        return grade_sandbox.tool(list(command), self.root, self.root, Limits(seconds, 1024, 1))

    def test_output_code_and_time(self):
        ran = self.tool("sh", "-c", "echo a; echo b >&2; exit 3")
        self.assertEqual((ran.code, ran.text, ran.timed_out), (3, "a\nb\n", False))
        self.assertTrue(self.tool("sleep", "60", seconds=1).timed_out)

    def test_a_file_that_grows_without_end_is_cut(self):
        self.tool("sh", "-c", "head -c 9000000 /dev/zero > grown")
        self.assertLessEqual((self.root / "grown").stat().st_size, 1 << 20)


class Lists(CourseFolder):
    def listed(self, cases):
        program = self.root / "program"
        text = "".join(f"<TestCase><Name>{name}</Name><Tags>{tags}</Tags></TestCase>" for name, tags in cases)
        program.write_text(f"#!/bin/sh\ncat <<'END'\n<MatchingTests>{text}</MatchingTests>\nEND\n")
        program.chmod(0o755)
        return grade_build.tests_of(self.lesson, program)

    def test_tests_belong_to_the_step_of_their_tag(self):
        found = self.listed((("a &lt; b", "[step1]"), ("c", "[step2][large]"), ("d", "[step1]")))
        self.assertEqual(found, {1: ["a < b", "d"], 2: ["c"]})

    def test_a_step_without_tests_would_be_points_for_nothing(self):
        with self.assertRaisesRegex(InternalError, "step2"):
            self.listed((("a", "[step1]"),))


if __name__ == "__main__":
    unittest.main()
