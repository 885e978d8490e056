"""The processes that the runner starts, and the runner as one."""

import os
import signal
import subprocess
import sys
import time
import unittest

from course import process
from course.errors import InternalError
from course_folder import CourseFolder, gone


class Streams(unittest.TestCase):
    """The runner as a process of its own, started by a shell with odd streams."""

    def run_course(self, redirection, arguments="--plain"):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = f"'{sys.executable}' -m course {arguments} {redirection}"
        return subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, timeout=60)

    def test_a_reader_that_leaves_is_no_failure(self):
        for arguments in ("--plain", "", "--help", "nonsense 2>&1"):
            with self.subTest(arguments):
                done = self.run_course("| true; echo ${PIPESTATUS[0]}", arguments)
                self.assertIn(done.stdout, ("0\n", "141\n"))  # argparse itself ignores it
                self.assertEqual(done.stderr, "")

    def test_missing_streams_are_no_failure(self):
        for closed in (">&-", "2>&-", "<&-", ">&- 2>&- <&-"):
            with self.subTest(closed):
                done = self.run_course(closed)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


class Children(CourseFolder):
    def limited(self, program, *seconds):
        return process.limited([sys.executable, "-c", program], self.root, *(seconds or (20,)))

    def test_code_and_streams(self):
        done = self.limited(
            "import sys; print('a'); print('b', file=sys.stderr); open(sys.argv[2].removeprefix('xml::out='), 'w').write('c'); sys.exit(3)"
        )
        self.assertEqual(
            (done.code, done.stdout[0].lines, done.stderr, done.report, done.timed_out), (3, ["a"], "b\n", "c", 0)
        )

    def test_a_time_limit_ends_the_children_too(self):
        start = time.monotonic()
        done = self.limited(
            "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()", 1
        )
        self.assertTrue(done.timed_out)
        self.assertLess(time.monotonic() - start, 10)
        self.assertTrue(gone(int(done.stdout[0].lines[0])))

    def test_no_child_outlives_its_parent(self):
        done = self.limited("import subprocess; print(subprocess.Popen(['sleep', '60']).pid)")
        self.assertEqual(done.code, 0)
        self.assertTrue(gone(int(done.stdout[0].lines[0])))

    def test_one_test_has_a_limit_of_its_own(self):
        done = self.limited("import time; time.sleep(60)", 50, 1)
        self.assertEqual((done.code, done.timed_out), (-9, 1))
        program = (
            "import sys, time\nwith open(sys.argv[2].removeprefix('xml::out='), 'w') as report:\n"
            " for _ in range(4): time.sleep(0.8); print('begins', file=report, flush=True)"
        )
        self.assertEqual(self.limited(program, 50, 2).code, 0)

    def test_a_flood_on_stderr_is_ended_and_one_on_stdout_is_forgotten(self):
        program = "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        done = self.limited(program + "while True: print('x' * 100000, file=sys.stderr)")
        self.assertEqual(done.code, -signal.SIGXFSZ)
        done = self.limited(program + "for _ in range(10**5): print('x' * 99)")
        self.assertEqual((done.code, len(done.stdout[0].lines), done.stdout[0].more), (0, 20, 10**5 - 20))

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
        self.assertTrue(gone(seen[0]))

    def test_a_missing_tool_is_named(self):
        with self.assertRaisesRegex(InternalError, "no-such-tool is not installed"):
            process.stream(["no-such-tool"], self.root, self.root / "log")


if __name__ == "__main__":
    unittest.main()
