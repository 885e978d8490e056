"""A miniature course in a temporary folder, for the tests of the runner."""

import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from course import lessons, screen
from course.state import State

TOML = """\
title = "Naive attention"
summary = "Scores, softmax, output."
file = "attention_forward.cpp"
needs = ["cpu"]
[[step]]
title = "Scores"
[[step]]
title = "Softmax"
[[hint]]
step = 1
text = "first of step 1"
[[hint]]
step = 2
text = "first of step 2"
[[hint]]
step = 1
text = "second of step 1"
[[mistake]]
title = "The maximum starts at 0"
caught_by = "rows sum to 1"
why = "All weights underflow."
"""
STUB = 'void scores() {\n  // TODO begin\n  fa::todo("Step 1: scores");\n  // TODO end\n}\n'
SOLUTION = "void scores() {\n  work();\n}\n"
NAME = "01_naive_attention"


class CourseFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        self.write(f"lessons/{NAME}/lesson.toml", TOML)
        self.write(f"lessons/{NAME}/test.cpp", "// tests\n")
        self.write(f"exercises/{NAME}/attention_forward.cpp", STUB)
        self.write(f"solutions/{NAME}/attention_forward.cpp", SOLUTION)
        self.lessons = lessons.load(self.root)
        self.lesson = self.lessons[0]
        self.exercise = self.root / self.lesson.exercise
        self.state = State(self.root)
        self.said = []
        screen.setup(plain=True)
        # What a command prints, as one list of lines on both streams.
        for name in ("console", "errors"):
            console = getattr(screen, name)
            console.file = _Lines(self.said)

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def commit(self, message="work"):
        identity = ["-c", "user.name=student", "-c", "user.email=student@localhost", "-c", "commit.gpgsign=false"]
        for command in (["init", "-q"], ["add", "exercises", "lessons"], [*identity, "commit", "-qm", message]):
            subprocess.run(["git", *command], cwd=self.root, check=True, capture_output=True)

    def output(self):
        return "".join(self.said)

    def sentences(self):
        """The output as it was before it was wrapped."""
        return " ".join(self.output().split())

    def widest(self):
        return max(map(len, self.output().splitlines()))


class _Lines:
    def __init__(self, parts):
        self.parts = parts

    def write(self, text):
        self.parts.append(text)

    def flush(self):
        pass


def gone(pid):
    """Whether a process has ended, or does so within five seconds."""
    for _ in range(50):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().split(")")[1].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.1)
    return False
