"""One runner at a time in a build folder: `watch` and `check` may run side by side."""

import fcntl
from contextlib import contextmanager
from pathlib import Path

from . import screen
from .errors import not_writable


@contextmanager
def build_folder(root: Path, preset: str):
    path = root / ".course" / f"build-{preset}.lock"
    try:
        path.parent.mkdir(exist_ok=True)
        lock = open(path, "w")
    except OSError as error:
        raise not_writable(".course/", error.strerror) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            screen.note(f"another ./course is using build/{preset}; waiting until it is done.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
