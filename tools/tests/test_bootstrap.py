"""The set-up: what it remembers, what it would do, what it reports. Installs nothing."""

import json
import os
import unittest
from pathlib import Path
from unittest import mock

import bootstrap
import packages
import python_environment
import setup_log
from set_up_folder import InFolder

TOOLS = Path(__file__).resolve().parents[1]


class Log(InFolder):
    def setUp(self):
        super().setUp()
        for name, value in (("FOLDER", ""), ("LOG", "setup.log"), ("ANSWERS", "setup.json")):
            self.enterContext(mock.patch.object(setup_log, name, self.folder / value))
        self.said = []
        self.enterContext(mock.patch.object(setup_log, "say", lambda line="": self.said.append(line)))

    def test_a_command_succeeds_or_fails_and_its_output_is_kept(self):
        with setup_log.one_at_a_time() as log:
            self.assertTrue(setup_log.run("One", ["sh", "-c", "echo first"], log))
            self.assertFalse(setup_log.run("Two", ["sh", "-c", "echo second; exit 3"], log))
            self.assertEqual(setup_log.last_lines(5), ["second"])
            self.assertFalse(setup_log.run("Three", [str(self.folder / "missing")], log))
            self.assertIn("No such file", setup_log.last_lines(1)[0])

    def test_a_full_disk_is_called_so(self):
        with setup_log.one_at_a_time() as log:
            setup_log.run("One", ["sh", "-c", "echo write: No space left on device; exit 1"], log)
            with self.assertRaisesRegex(setup_log.SetupError, "no space left"):
                setup_log.show_failure("It failed")

    def test_answers_are_kept_and_damage_is_survived(self):
        self.assertEqual(setup_log.remembered(), {})
        setup_log.remember(python="system")
        setup_log.remember(declined=["git"])
        self.assertEqual(setup_log.remembered(), {"python": "system", "declined": ["git"]})
        for damage in ("{", "[]", ""):
            setup_log.ANSWERS.write_text(damage)
            self.assertEqual(setup_log.remembered(), {})

    def test_only_root_is_not_asked(self):
        with (
            mock.patch("setup_log.can_ask", return_value=False),
            mock.patch("os.geteuid", return_value=0),
            mock.patch.dict(os.environ, COURSE_OFFLINE="0"),
        ):
            self.assertTrue(setup_log.may_install(agreed=False))

    def test_nothing_runs_unasked(self):
        with (
            mock.patch("setup_log.can_ask", return_value=False),
            mock.patch("os.geteuid", return_value=1000),
            mock.patch("shutil.which", return_value="/usr/bin/sudo"),
            mock.patch.dict(os.environ, COURSE_OFFLINE="0"),
        ):
            self.assertFalse(setup_log.may_install(agreed=False))
            self.assertTrue(setup_log.may_install(agreed=True))
            with mock.patch.dict(os.environ, COURSE_OFFLINE="1"):
                self.assertFalse(setup_log.may_install(agreed=True))


class PrivateEnvironment(InFolder):
    def setUp(self):
        super().setUp()
        self.site = self.folder / "lib" / "python3.11" / "site-packages"
        (self.site / "rich").mkdir(parents=True)
        python = self.program("python", "")
        self.requirements = self.folder / "requirements.txt"
        self.requirements.write_text("rich==1.0\n")
        for name, value in (
            ("VENV", self.folder),
            ("REQUIREMENTS", self.requirements),
            ("PRIVATE_PYTHON", str(python)),
            ("FINISHED", self.folder / "finished.json"),
        ):
            self.enterContext(mock.patch.object(python_environment, name, value))

    def finish(self):
        python_environment.FINISHED.write_text(json.dumps(python_environment.contents()))

    def test_complete_only_once_it_was_finished(self):
        self.assertFalse(python_environment.venv_is_complete())
        self.finish()
        self.assertTrue(python_environment.venv_is_complete())
        (self.site / "more").mkdir()
        self.assertTrue(python_environment.venv_is_complete())

    def test_a_package_that_was_removed_is_noticed(self):
        self.finish()
        (self.site / "rich").rmdir()
        self.assertFalse(python_environment.venv_is_complete())

    def test_other_requirements_are_noticed(self):
        self.finish()
        self.requirements.write_text("rich==2.0\n")
        self.assertFalse(python_environment.venv_is_complete())

    def test_a_python_that_is_gone_is_noticed(self):
        self.finish()
        Path(python_environment.PRIVATE_PYTHON).unlink()
        self.assertFalse(python_environment.venv_is_complete())

    def test_half_a_record_is_no_record(self):
        for damage in ("", "{}", "[]", '{"requirements": 1, "python": 2, "files": 3}'):
            python_environment.FINISHED.write_text(damage)
            self.assertFalse(python_environment.venv_is_complete())


class Requirements(unittest.TestCase):
    def test_every_package_is_pinned(self):
        lines = (TOOLS / "requirements.txt").read_text().splitlines()
        for line in lines:
            self.assertRegex(line, r"^(#.*|[\w-]+==[\w.]+|)$")
        self.assertTrue({"rich", "watchfiles", "matplotlib"} <= {line.split("==")[0] for line in lines})


class Report(unittest.TestCase):
    def test_each_row_is_found_or_says_how_to_get_it(self):
        rows = bootstrap.report()
        self.assertIn("CMake", [row.name for row in rows])
        for name, needed, found, how in rows:
            self.assertTrue(name and needed)
            self.assertEqual(found is None, bool(how), name)

    def test_only_essentials_count_as_missing(self):
        rows = [bootstrap.Row(name, "", None, "x") for name in ("CMake", "Catch2", "rich", "watchfiles")]
        self.assertEqual([row.name for row in bootstrap.missing_essentials(rows)], ["CMake", "rich"])


class SetUp(unittest.TestCase):
    """What set_up() decides, with everything that could act replaced."""

    def decide(self, missing: list[str], python: str | None, declined: tuple[str, ...] = (), agreed: bool = False):
        needs = {need: packages.Found(None) for need in packages.NEEDS if need.name in missing}
        self.assertEqual(len(needs), len(missing))
        done = []
        with (
            mock.patch("bootstrap.missing_needs", return_value=needs),
            mock.patch("bootstrap.runner_python", return_value=python),
            mock.patch("setup_log.remembered", return_value={"declined": declined}),
            mock.patch("setup_log.one_at_a_time"),
            mock.patch("packages.missing_venv_package", return_value=None),
            mock.patch("bootstrap.prepare_system", lambda *arguments: done.append("system")),
            mock.patch("bootstrap.prepare_python", lambda *arguments: done.append("python") or "/new/python"),
        ):
            return bootstrap.set_up(agreed), done

    def test_nothing_to_do(self):
        self.assertEqual(self.decide([], "/python"), ("/python", []))

    def test_what_is_missing_is_prepared(self):
        self.assertEqual(self.decide(["CMake"], None), ("/new/python", ["system", "python"]))

    def test_what_was_declined_is_not_asked_again(self):
        self.assertEqual(self.decide(["Catch2"], "/python", ("Catch2",)), ("/python", []))
        self.assertEqual(self.decide(["Catch2", "git"], "/python", ("Catch2",)), ("/python", ["system"]))

    def test_an_essential_is_asked_for_always(self):
        self.assertEqual(self.decide(["CMake"], "/python", ("CMake",)), ("/python", ["system"]))

    def test_agreeing_in_advance_overrides_what_was_declined(self):
        self.assertEqual(self.decide(["Catch2"], "/python", ("Catch2",), agreed=True), ("/python", ["system"]))
