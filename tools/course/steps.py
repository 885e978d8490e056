"""Which step of a lesson a test is of, and which one a line of the exercise belongs to."""

import re

from .lessons import Lesson, Mistake

_COMMENT = re.compile(r"//\s*Step (\d+)")


def of_test(lesson: Lesson, name: str) -> int | None:
    """By its tag in test.cpp: a test that was not asked for is in no report."""
    source = (lesson.folder / "test.cpp").read_text(encoding="utf-8")
    written = re.escape(name.replace("\\", "\\\\").replace('"', '\\"'))
    found = re.search(rf'TEST_CASE\("{written}",\s*"\[step(\d+)\]', source)
    return _known(lesson, found)


def of_mistake(lesson: Lesson, mistake: Mistake) -> int | None:
    return mistake.step or of_test(lesson, mistake.caught_by)


def of_line(lesson: Lesson, line: int) -> int | None:
    """By the nearest `// Step N` in this line or above it."""
    above = lesson.read_exercise().decode(errors="replace").splitlines()[:line]
    return _known(lesson, next(filter(None, map(_COMMENT.search, reversed(above))), None))


def of_place(lesson: Lesson, text: str) -> int | None:
    """By the first line of the exercise that a message names."""
    found = re.search(rf"(?<![\w.]){re.escape(lesson.file)}:(\d+)", text)
    return of_line(lesson, int(found[1])) if found else None


def _known(lesson: Lesson, found: re.Match | None) -> int | None:
    return int(found[1]) if found and 1 <= int(found[1]) <= len(lesson.steps) else None
