"""The shell script `course`: finds a Python, asks before it installs one, never waits for nobody."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path

from set_up_folder import InFolder

ROOT = Path(__file__).resolve().parents[2]


class Launcher(InFolder):
    """`course`, beside a bootstrap.py that only shows its arguments."""

    def setUp(self):
        super().setUp()
        self.course = self.folder / "a course" / "course"
        (self.course.parent / "tools").mkdir(parents=True)
        shutil.copy(ROOT / "course", self.course)
        (self.course.parent / "tools" / "bootstrap.py").write_text("import sys\nprint(sys.argv)\n")

    def start(self, *command, path: str | None = None, cwd: Path | None = None, **environment: str):
        variables = {**os.environ, **environment, "PATH": path or os.environ["PATH"]}
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=cwd, env=variables, timeout=60
        )

    def log(self) -> str:
        return (self.course.parent / ".course" / "setup.log").read_text()

    def without_python(self, *more: str) -> str:
        """A PATH with what the launcher uses, and no Python."""
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        for name in ("sh", "env", "readlink", "dirname", "id", "ls", "mkdir", "tail", "sed", *more):
            target = shutil.which(name)
            if target and not (folder / name).exists():
                (folder / name).symlink_to(target)
        return str(folder)

    def test_arguments_arrive_as_they_are_from_any_folder_and_through_links(self):
        first, second = self.folder / "first", self.folder / "second"
        first.symlink_to(self.course)
        second.symlink_to("first")
        expected = str([str(self.course.parent / "tools" / "bootstrap.py"), "check", "a b", "--", "*"]) + "\n"
        for program in (self.course, first, second):
            done = self.start(str(program), "check", "a b", "--", "*", cwd=Path("/"))
            self.assertEqual((done.returncode, done.stdout), (0, expected), done.stderr)
        self.assertEqual(self.start("sh", "second", "check", "a b", "--", "*", cwd=self.folder).stdout, expected)

    def test_without_python_and_apt_it_says_what_is_needed(self):
        done = self.start(str(self.course), "demo", path=self.without_python())
        self.assertEqual(done.returncode, 1)
        self.assertIn("Install Python 3.11 or newer", done.stderr)

    def test_without_python_it_shows_the_commands_and_does_not_wait(self):
        path = self.without_python("false")
        self.program("apt-get", "apt-get ran")
        self.program("sudo", "sudo ran")
        self.program("id", "1000")
        for environment, reason in ((dict(COURSE_OFFLINE="1", COURSE_YES="1"), "COURSE_OFFLINE"), ({}, "terminal")):
            done = self.start(
                str(self.course), "demo", path=path, **{"COURSE_OFFLINE": "0", "COURSE_YES": "0", **environment}
            )
            self.assertEqual(done.returncode, 1)
            self.assertIn("install -y --no-install-recommends python3 python3-venv", done.stderr)
            self.assertNotIn("apt-get ran", done.stderr)
            self.assertNotIn("sudo ran", done.stderr)
            self.assertIn(reason, done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "the rights of root are needed")
    def test_agreed_in_advance_or_as_root_it_runs_them_and_is_honest_about_the_result(self):
        path = self.without_python()
        self.program("apt-get", "apt-get ran")
        for arguments, environment in ((["--yes", "demo"], {}), (["demo"], {"COURSE_YES": "1"}), (["demo"], {})):
            done = self.start(str(self.course), *arguments, path=path, **{"COURSE_OFFLINE": "0", **environment})
            self.assertEqual(done.returncode, 1)
            self.assertEqual(self.log().count("apt-get ran"), 2)
            self.assertNotIn("apt-get ran", done.stderr)
            self.assertIn("older than 3.11", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "the rights of root are needed")
    def test_what_fails_is_shown_by_the_end_of_the_log(self):
        path = self.without_python("seq")
        self.program("apt-get", "").write_text('#!/bin/sh\nseq 20\necho "cannot do $*" >&2\nexit 100\n')
        done = self.start(str(self.course), "demo", path=path, COURSE_OFFLINE="0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Updating the lists of packages failed.", done.stderr)
        self.assertIn("    20\n    cannot do update\n", done.stderr)
        self.assertIn("Installing Python failed.", done.stderr)
        self.assertNotIn("    13\n", done.stderr)
        self.assertIn("\n$ apt-get update\n1\n2\n", self.log())

    @unittest.skipUnless(os.geteuid() == 0, "the rights of root are needed")
    def test_where_it_cannot_write_nothing_is_installed(self):
        path = self.without_python()
        ran = self.folder / "ran"
        self.program("apt-get", "").write_text(f"#!/bin/sh\n: >'{ran}'\n")
        (self.course.parent / ".course").write_text("a file\n")
        done = self.start(str(self.course), "demo", path=path, COURSE_OFFLINE="0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a folder that you may write to", done.stderr)
        self.assertFalse(ran.exists())

    def test_an_old_python_is_not_mended_by_apt(self):
        path = self.without_python()
        old = self.program("python3", "")
        old.write_text("#!/bin/sh\ncase $* in *shlex*) exit 1 ;; esac\nexit 0\n")
        self.program("apt-get", "apt-get ran")
        done = self.start(str(self.course), "--yes", "demo", path=path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("older than 3.11", done.stderr)
        self.assertNotIn("apt-get ran", done.stderr)
