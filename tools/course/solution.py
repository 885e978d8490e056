"""`./course solution`: the difference between the student's file and the solution."""

import difflib
import sys

from . import screen, verdict
from .errors import NOT_RIGHT, UsageError
from .lessons import Lesson
from .state import State

_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_MARKERS = ("// TODO begin", "// TODO end")


def solution(lesson: Lesson, state: State, yes: bool) -> int:
    mine = lesson.read_exercise().decode(errors="replace").splitlines()
    theirs = (lesson.root / lesson.solution).read_text(encoding="utf-8").splitlines()
    difference = _difference(lesson, mine, theirs)
    if not difference:
        screen.say(f"{lesson.exercise} equals the solution.")
        return 0
    if not yes and state.verdict(lesson) != verdict.RIGHT:
        if not sys.stdin.isatty():
            raise UsageError(
                f"This would show the solution of {lesson.called}, and there is no terminal to ask you on.",
                f"To show it: {lesson.command('solution')} --yes",
            )
        if not screen.confirm(
            f"This shows the solution of {lesson.called}, {lesson.title}, and spoils the exercise. Show it?"
        ):
            screen.say(f"Not shown. For a hint: {lesson.for_a_hint()}")
            return NOT_RIGHT
    for line in difference:
        screen.code(line, "bold" if line.startswith(("---", "+++")) else _STYLES.get(line[:1], ""))
    return 0


def _difference(lesson: Lesson, mine: list[str], theirs: list[str]) -> list[str]:
    """Without the lines that mark the regions of the task; line numbers are those of the file all the same."""
    kept = [(number, line) for number, line in enumerate(mine, 1) if line.strip() not in _MARKERS]
    numbers = [number for number, _ in kept] or [0]
    lines = [line for _, line in kept]
    shown = []
    # Without autojunk, which in a long file takes "}" for junk and shows lines as removed and added that are the same.
    for group in difflib.SequenceMatcher(None, lines, theirs, autojunk=False).get_grouped_opcodes():
        start, stop, at = group[0][1], group[-1][2], group[0][3]
        first = numbers[min(start, len(numbers) - 1)]
        shown.append(f"@@ -{first},{stop - start} +{at + 1},{group[-1][4] - at} @@")
        for kind, begin, end, their_begin, their_end in group:
            if kind == "equal":
                shown += [f" {line}" for line in lines[begin:end]]
            else:
                shown += [f"-{line}" for line in lines[begin:end]]
                shown += [f"+{line}" for line in theirs[their_begin:their_end]]
    return [f"--- {lesson.exercise}", f"+++ {lesson.solution}", *shown] if shown else []
