"""`./course reset`: the stub again; what was there is kept."""

import os
import sys
import time
from pathlib import Path

from . import screen, stub
from .errors import NOT_RIGHT, InternalError, UsageError
from .lessons import Lesson
from .state import State


def reset(lesson: Lesson, state: State, yes: bool) -> int:
    path = lesson.root / lesson.exercise
    empty = stub.find(lesson)
    if empty is None:
        raise InternalError(
            f"The stub of {lesson.exercise} is not at hand: {stub.why_unknown(lesson)}.",
            "The stubs are kept in the course's git history. Nothing was changed.",
            f"Take {lesson.exercise} from a fresh clone or download of the course instead.",
        )
    mine = path.read_bytes() if path.exists() else None
    if mine == empty:
        screen.say(f"{lesson.exercise} is the stub already: nothing to do.")
        return 0
    if mine is not None:
        if not yes:
            if not sys.stdin.isatty():
                raise UsageError(
                    f"This would replace {lesson.exercise}, and there is no terminal to ask you on.",
                    f"To do it: ./course reset {lesson.number} --yes",
                )
            if not screen.confirm(f"Replace {lesson.exercise} by the stub? A copy of your file is kept."):
                screen.say("Nothing was changed.")
                return NOT_RIGHT
        kept = keep(lesson, mine)
        screen.say(f"Your file is kept as {kept.relative_to(lesson.root)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(empty)
    state.update(lesson, fingerprint=None, verdict=None, steps={})
    screen.say(f"{lesson.exercise} is the stub again.")
    return 0


def keep(lesson: Lesson, content: bytes) -> Path:
    """Writes a copy that is safely on the disk before anything is replaced, under a name that nothing else has."""
    folder = lesson.root / ".course" / "kept" / lesson.name
    folder.mkdir(parents=True, exist_ok=True)
    base = f"{lesson.file}.{time.strftime('%Y%m%d-%H%M%S')}"
    for number in range(1, 1000):
        copy = folder / (base if number == 1 else f"{base}-{number}")
        try:
            file = open(copy, "xb")
        except FileExistsError:
            continue
        try:
            with file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            copy.unlink()  # half a copy would be taken for a whole one
            raise
        return copy
    raise InternalError(f"No free name for a copy in {folder.relative_to(lesson.root)}. Nothing was changed.")
