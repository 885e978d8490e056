"""`./course watch`: checks at each save."""

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import screen
from .check import check
from .errors import CourseError
from .hint import hint
from .lessons import Lesson, after
from .state import State

TICK = 0.2  # seconds between two looks at the keyboard


def watch(lesson: Lesson, lessons: list[Lesson], state: State, limit: float | None) -> int:
    """Until q or Ctrl-C, which is the ordinary end: exit code 0."""
    try:
        with _keys() as pressed:
            while lesson is not None:
                lesson = _one(lesson, lessons, state, limit, pressed)
    except KeyboardInterrupt:
        pass
    screen.say("Stopped watching.")
    return 0


def _one(lesson: Lesson, lessons: list[Lesson], state: State, limit: float | None, pressed) -> Lesson | None:
    """Watches one lesson; returns the next one to watch, or None."""
    following = after(lesson, lessons)
    saves = _saves(lesson.root / lesson.exercise)
    next(saves)  # from here on no save is missed, not even one during the first check
    _check(lesson, following, limit)
    for saved in saves:
        key = "r" if saved else pressed()
        if key == "q":
            return None
        if key == "n" and following:
            return following
        if key == "h":
            screen.code("")
            _guarded(lambda: hint(lesson, state))
        if key == "r":
            _check(lesson, following, limit)
    return None


def _check(lesson: Lesson, following: Lesson | None, limit: float | None) -> None:
    if not screen.is_plain():
        screen.console.clear()
    _guarded(lambda: check(lesson, limit=limit))
    screen.code("")
    if screen.is_plain() or not sys.stdin.isatty():
        screen.say(f"Watching {lesson.exercise}. Ctrl-C stops.")
    else:
        onward = f"n lesson {following.number}, " if following else ""
        screen.say(("Watching for the next save. ", "bold"), f"Keys: h hint, r run again, {onward}q quit")


def _guarded(action) -> None:
    """A failure is shown, and the next save gets its chance."""
    try:
        action()
    except CourseError as error:
        screen.complain(error)


def _saves(path: Path) -> Iterator[bool]:
    """True after each save, False at every tick. Editors that replace the file count too, so the folder is watched."""
    try:
        from watchfiles import Change
        from watchfiles import watch as changes
    except ImportError:
        yield from _polled(path)
        return

    def ours(change: Change, changed: str) -> bool:
        return change != Change.deleted and Path(changed).name == path.name

    for found in changes(
        path.parent,
        watch_filter=ours,
        debounce=100,
        step=20,
        rust_timeout=int(TICK * 1000),
        yield_on_timeout=True,
        recursive=False,
    ):
        yield bool(found)


def _polled(path: Path) -> Iterator[bool]:
    """Without watchfiles, which not every system packages."""

    def stamp():
        try:
            status = path.stat()
            return status.st_mtime_ns, status.st_size, status.st_ino
        except FileNotFoundError:
            return None

    last = stamp()
    while True:
        time.sleep(TICK)
        now = stamp()
        yield now is not None and now != last
        last = now or last


@contextmanager
def _keys():
    """Yields a function that returns the key pressed since the last call, or nothing."""
    if screen.is_plain() or not sys.stdin.isatty():
        yield lambda: ""
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)

    def pressed() -> str:
        ready, _, _ = select.select([sys.stdin], [], [], 0)
        return os.read(sys.stdin.fileno(), 64).decode(errors="replace")[-1:].lower() if ready else ""

    try:
        yield pressed
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
