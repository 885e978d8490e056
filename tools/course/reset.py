"""`./course reset`: the stub again; what was there is kept."""

import os
import shutil
import sys
import time
from pathlib import Path

from . import progress, screen, stub
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
    mine = _read(path)
    if mine == empty:
        screen.say(f"{lesson.exercise} is {lesson.stub_called} already: nothing to do.")
        return 0
    if mine is not None:
        if not yes:
            if not sys.stdin.isatty():
                raise UsageError(
                    f"This would replace {lesson.exercise}, and there is no terminal to ask you on.",
                    f"To do it: {lesson.command('reset')} --yes",
                )
            if not screen.confirm(f"Replace {lesson.exercise} by {lesson.stub_called}? A copy of your file is kept."):
                screen.say("Nothing was changed.")
                return NOT_RIGHT
        mine = _read(path)  # again: it may have been saved while the question was open
    if mine is not None:
        kept = keep(lesson, mine).relative_to(lesson.root)
        screen.say(f"Your file is kept as {kept}")
    _replace(path, empty)
    progress.forget(state, lesson)
    screen.say(f"{lesson.exercise} is {lesson.stub_called} again.")
    if mine is not None:
        screen.say("To bring your file back:")
        screen.code(f"    cp {kept} {lesson.exercise}")
    return 0


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _replace(path: Path, content: bytes) -> None:
    """All or nothing: on a full disk the old file stays as it is."""
    path = path.resolve()  # a symbolic link stays one
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        fresh.write_bytes(content)
        if path.exists():
            shutil.copymode(path, fresh)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


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
