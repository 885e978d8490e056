"""INSTRUCTOR.md: its commands exist, and so do its figures and files."""

import re
import shlex
import unittest
from pathlib import Path

from course import cli, demo_invariant, demo_tiles, demo_traffic, screen
from course.lessons import ROOT

TEXT = (ROOT / "INSTRUCTOR.md").read_text(encoding="utf-8")


class Commands(unittest.TestCase):
    def setUp(self):
        screen.setup(plain=True)

    def test_each_command_is_understood(self):
        spans = re.findall(r"`\./course ([^`]+)`", TEXT)
        blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
        lines = re.findall(r"\./course ([^#;>\n]+)", blocks.replace("$step", "1"))
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


if __name__ == "__main__":
    unittest.main()
