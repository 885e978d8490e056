"""What the runner remembers in .course/state.json: the last verdicts, the hints seen, questions, predictions.

The file may be lost at any time: a lesson without a record is "never checked", and nothing else depends on it.
"""

import fcntl
import json
import os
import time
from contextlib import contextmanager
from pathlib import Path

from . import screen
from .errors import not_writable
from .lessons import Lesson

FIELDS = {
    "fingerprint": str,
    "verdict": str,
    "steps": dict,
    "about": int,
    "checked": (int, float),
    "hints": list,
    "built": str,
    "warning": str,
    "quiz": dict,
    "predictions": list,
}


class State:
    def __init__(self, root: Path):
        self.folder = root / ".course"
        self.path = self.folder / "state.json"

    def record(self, lesson: Lesson) -> dict:
        """What is known of a lesson; empty when nothing is.

        Of the last check: fingerprint (of the file), verdict, about (a step), checked (when). Besides: steps (the last
        result of each), hints (those seen), built (the fingerprint of what was built last), warning (the compiler's on it),
        quiz (by kind of question: how often asked, how often right), predictions (in the order in which they were made).
        """
        return self._load().get(lesson.key, {})

    def verdict(self, lesson: Lesson) -> str | None:
        """The last verdict, if it was on the file as it is now."""
        record = self.record(lesson)
        if not record or not (lesson.root / lesson.exercise).exists():
            return None
        return record.get("verdict") if record.get("fingerprint") == lesson.fingerprint() else None

    def update(self, lesson: Lesson, **changes) -> None:
        """Changes a lesson's record. Two runners may do so at once."""
        with self._locked():
            lessons = self._load()
            lessons.setdefault(lesson.key, {}).update(changes)
            fresh = self.path.with_suffix(f".{os.getpid()}.new")
            fresh.write_text(
                json.dumps({"version": 1, "lessons": lessons}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
            )
            fresh.replace(self.path)  # a reader sees the old file or the new one, never a half

    def must_be_writable(self) -> None:
        """Before somebody is asked for what could not be kept. Raises InternalError."""
        with self._locked():
            pass

    @contextmanager
    def _locked(self):
        try:
            self.folder.mkdir(exist_ok=True)
            lock = open(self.folder / "state.lock", "w")
        except OSError as error:
            raise not_writable(".course/", error.strerror) from None
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _load(self) -> dict:
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError):  # JSON or UTF-8; nested without end
            return self._set_aside()
        lessons = data.get("lessons") if isinstance(data, dict) else None
        if not isinstance(lessons, dict) or not all(map(_is_sound, lessons.values())):
            return self._set_aside()
        return lessons

    def _set_aside(self) -> dict:
        kept = self.path.with_name(f"state.json.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
        try:
            self.path.rename(kept)
        except FileNotFoundError:
            return {}  # another runner was faster
        except OSError as error:
            screen.note(f".course/state.json is damaged and is ignored ({error.strerror}).")
            return {}
        screen.note(
            f".course/state.json was damaged. It is now .course/{kept.name}; the lessons count as never checked."
        )
        return {}


def _is_sound(record) -> bool:
    """Whether a lesson's record has the types that update() was given; every field may be null."""
    return isinstance(record, dict) and all(
        record.get(name) is None or isinstance(record[name], kind) for name, kind in FIELDS.items()
    )
