"""`./course solution`: the difference between the student's file and the solution."""

import difflib
import sys

from . import screen
from .errors import NOT_RIGHT, UsageError
from .lessons import Lesson

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def solution(lesson: Lesson, yes: bool) -> int:
    mine = lesson.read_exercise().decode(errors="replace").splitlines()
    theirs = (lesson.root / lesson.solution).read_text(encoding="utf-8").splitlines()
    if mine == theirs:
        screen.say(f"{lesson.exercise} equals the solution.")
        return 0
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(
                f"This would show the solution of lesson {lesson.number}, and there is no terminal to ask you on.",
                f"To show it: ./course solution {lesson.number} --yes",
            )
        if not screen.confirm(
            f"This shows the solution of lesson {lesson.number}, {lesson.title}, and spoils the exercise. Show it?"
        ):
            screen.say(f"Not shown. For a hint: ./course hint {lesson.number}")
            return NOT_RIGHT
    for line in difflib.unified_diff(mine, theirs, lesson.exercise, lesson.solution, lineterm=""):
        screen.code(line, "bold" if line.startswith(("---", "+++")) else _STYLES.get(line[:1], ""))
    return 0
