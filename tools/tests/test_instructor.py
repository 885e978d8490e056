"""INSTRUCTOR.md: its commands exist, and so do its figures and files; its loop grades what was handed in."""

import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

from course import cli, demo_invariant, demo_tiles, demo_traffic, screen
from course.lessons import ROOT

TEXT = (ROOT / "INSTRUCTOR.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
# In place of the course: a file that says "right" is right.
COURSE = "#!/bin/sh\ngrep -q right exercises/04_counting_bytes/attention_forward.cpp\n"


class Commands(unittest.TestCase):
    def setUp(self):
        screen.setup(plain=True)

    def test_each_command_is_understood(self):
        spans = re.findall(r"`\./course ([^`]+)`", TEXT)
        lines = re.findall(r"\./course ([^#;>\n]+)", "\n".join(BLOCKS).replace("$step", "1"))
        commands = [shlex.split(words) for words in spans + lines]
        self.assertGreater(len(commands), 12)
        for command in commands:
            with self.subTest(" ".join(command)):
                arguments, _, _ = cli._global_flags(command)
                if arguments[0] != "demo":
                    cli._parser().parse_args(arguments)
                    continue
                demonstrations = {"tiles": demo_tiles, "invariant": demo_invariant}
                named = demonstrations.get(arguments[1]) if len(arguments) > 1 else None
                (named or demo_traffic).parse(arguments[2 if named else 1 :])

    def test_figures_and_links_exist(self):
        for figure in re.findall(r"`(\w+\.svg)`", TEXT):
            self.assertTrue((ROOT / "plots/figures" / figure).is_file(), figure)
        for link in re.findall(r"\]\(([^)#]+)", TEXT):
            self.assertTrue(Path(ROOT / link).exists(), link)

    def test_what_lecture_1_shows_the_demonstration_draws(self):
        lecture = TEXT[TEXT.index("## Lecture 1") : TEXT.index("## Lecture 2")]
        for figure in re.findall(r"`(\w+)\.svg`", lecture):
            self.assertIn(figure, demo_traffic.SHOWN_FIGURES)


class Grading(unittest.TestCase):
    def test_each_submission_is_graded_by_its_own_file(self):
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (root / "exercises/04_counting_bytes").mkdir(parents=True)
        (root / "course").write_text(COURSE)
        (root / "course").chmod(0o755)
        for name, text in (("16", "right"), ("17", None), ("18 b", "wrong")):
            (root / "submissions" / name).mkdir(parents=True)
            if text:
                (root / "submissions" / name / "attention_forward.cpp").write_text(text)
        (loop,) = [block for block in BLOCKS if "submissions" in block]
        ran = subprocess.run(["sh", "-c", loop], cwd=root, capture_output=True, text=True, check=True)
        steps = ("all", "step 1", "step 2", "step 3", "step 4")
        wanted = [f"{name}, {step}: {code}" for name, code in (("16", 0), ("18 b", 1)) for step in steps]
        self.assertEqual(ran.stdout.splitlines(), wanted)
        self.assertIn("submissions/17", ran.stderr)


if __name__ == "__main__":
    unittest.main()
