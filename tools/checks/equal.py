"""Exercises equal solutions outside TODO regions.

An exercise is its solution with some runs of lines cut out, and `// TODO begin` ... `// TODO end` in their places. So the lines
between the regions must appear in the solution, in order, from its first line to its last.
"""

from collections.abc import Iterator

from checks.common import Lesson, Result, lessons

BEGIN, END = "// TODO begin", "// TODO end"


def segments(exercise: str) -> list[list[str]]:
    """The runs of lines outside of the regions. Raises ValueError if the markers do not pair up."""
    runs: list[list[str]] = [[]]
    inside = False
    for number, line in enumerate(exercise.splitlines(), 1):
        marker = line.strip()
        if marker in (BEGIN, END):
            if inside == (marker == BEGIN):
                raise ValueError(f"line {number}: unexpected '{marker}'")
            inside = not inside
            if marker == END:
                runs.append([])
        elif not inside:
            runs[-1].append(line)
    if inside:
        raise ValueError(f"'{BEGIN}' without '{END}'")
    return runs


def find_run(run: list[str], lines: list[str], start: int) -> int:
    """Where `run` begins in `lines`, at `start` or later; -1 if nowhere."""
    for at in range(start, len(lines) - len(run) + 1):
        if lines[at : at + len(run)] == run:
            return at
    return -1


def difference(exercise: str, solution: str) -> str | None:
    """What is wrong, or None if the two agree outside the regions."""
    try:
        first, *middle = segments(exercise)
    except ValueError as error:
        return str(error)
    if not middle:
        return "the exercise has no TODO region"
    *middle, last = middle
    lines = solution.splitlines()
    if lines[: len(first)] != first:
        return first_difference(first, lines)
    at = len(first)
    for run in middle:
        found = find_run(run, lines, at)
        if found < 0:
            return "these lines of the exercise are not in the solution, in this place:\n" + "\n".join(run)
        at = found + len(run)
    if len(lines) - len(last) < at or lines[len(lines) - len(last) :] != last:
        return "after the last region:\n" + first_difference(last[::-1], lines[::-1])
    return None


def first_difference(run: list[str], lines: list[str]) -> str:
    for ours, theirs in zip(run, lines, strict=False):
        if ours != theirs:
            return f"exercise: {ours}\nsolution: {theirs}"
    return "the solution ends early"


def check(lesson: Lesson) -> Result:
    exercise = lesson.exercise.read_text(encoding="utf-8")
    problem = difference(exercise, lesson.solution.read_text(encoding="utf-8"))
    return Result(f"exercise and solution of {lesson.name}", problem is None, problem or "")


def run() -> Iterator[Result]:
    for lesson in lessons():
        yield check(lesson)
