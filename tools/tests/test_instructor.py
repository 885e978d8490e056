"""INSTRUCTOR.md: its commands exist, and so do its figures and files; its recipes for grading grade what was handed in."""

import json
import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

from course import cli, demo_invariant, demo_tiles, demo_traffic, grade, grade_formats, grade_points, lessons, screen
from course.lessons import ROOT

TEXT = (ROOT / "INSTRUCTOR.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
# In place of the course: what it was asked, a word a line.
COURSE = "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"


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
                if arguments[:1] != ["demo"]:
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
    def recipe(self, name):
        (script,) = [block for block in BLOCKS if block.startswith("#!") and name in block]
        return script

    def gradescope(self, name, seed):
        """Runs a script of the recipe where the course only prints its arguments."""
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for folder in ("source/course", "submission", "results", "bin"):
            (root / folder).mkdir(parents=True)
        (root / "submission/online_softmax.cpp").write_text("text")
        if seed is not None:
            (root / "source/seed.txt").write_text(seed)
        (root / "submission_metadata.json").write_text('{"users": [{"id": 1234, "name": "a name"}]}')
        for program in (root / "source/course/course", root / "bin/cmake"):
            program.write_text(COURSE)
            program.chmod(0o755)
        script = self.recipe(name).replace("/autograder", str(root)).replace("/tmp/submissions", f"{root}/all")
        path = f"{root}/bin{os.pathsep}{os.environ['PATH']}"
        return root, subprocess.run(["bash", "-c", script], capture_output=True, text=True, env={"PATH": path})

    def test_gradescope_runs_the_submission_under_the_number_of_its_student(self):
        root, ran = self.gradescope("results.json", "autumn, group B\n")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        flags = cli._parser().parse_args(ran.stdout.splitlines())
        self.assertEqual((flags.seed, flags.gradescope), ("autumn, group B", root / "results/results.json"))
        (folder,) = flags.paths
        self.assertEqual((folder.name, [one.name for one in folder.iterdir()]), ("1234", ["online_softmax.cpp"]))
        self.assertFalse((root / "source/seed.txt").exists())

    def test_without_a_text_for_the_seed_gradescope_neither_sets_up_nor_grades(self):
        for name in ("FA_NATIVE", "results.json"):
            for seed in (None, "", " \n\n"):
                with self.subTest(name, seed=seed):
                    _, ran = self.gradescope(name, seed)
                    self.assertNotEqual(ran.returncode, 0)
                    self.assertEqual(ran.stdout, "")
        _, ran = self.gradescope("FA_NATIVE", "autumn\n")
        self.assertEqual((ran.returncode, ran.stdout.split()[-4:]), (0, ["grade", ".", "--lesson", "02"]), ran.stderr)

    def test_its_set_up_names_an_option_that_exists(self):
        for option in re.findall(r"-D(\w+)", self.recipe("FA_NATIVE")):
            self.assertIn(f"option({option} ", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))

    def test_the_workflow_grades(self):
        (workflow,) = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
        (command,) = re.findall(r"course/course (grade [^>\n]+)", workflow)
        flags = cli._parser().parse_args(shlex.split(command))
        self.assertEqual(flags.paths, [Path("submissions")])
        self.assertIn("path: submissions/", workflow)
        self.assertIn("token: ${{ secrets.COURSE_TOKEN }}", workflow)

    def test_its_numbers_are_those_of_the_command(self):
        section = TEXT[TEXT.index("## How to grade") : TEXT.index("### What a submission can do")]
        self.assertIn(f"FA_SEED={grade_points.seed_of('autumn, group B', 'ada')} ./course check 02", section)
        self.assertIn(f"after {grade.LIMIT:g} seconds", section)
        self.assertIn(f"{grade.MEMORY} MB", section)
        self.assertIn(f"A lesson has {grade_points.FULL}", section)

    def test_every_field_of_the_document_is_described(self):
        lesson = lessons.load(ROOT)[0]
        one = grade_points.without_tests("ada", lesson, grade_points.MISSING, "nothing", 1)
        document = json.loads(grade_formats.as_json(grade_formats.Report("", ["ada"], [one])))
        section = TEXT[TEXT.index("### The documents") : TEXT.index("### GitHub\n")]
        student = document["students"][0]
        for part in (document, student, student["lessons"][0], student["lessons"][0]["steps"][0]):
            for field in part:
                self.assertRegex(section, rf"`{field}(\[\])?`")


if __name__ == "__main__":
    unittest.main()
