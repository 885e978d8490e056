"""What is right so far and what comes next, from the results that the runner remembers."""

import time

from .errors import InternalError
from .lessons import Lesson
from .state import State
from .verdict import DOES_NOT_COMPILE, NOT_STARTED, RIGHT, WRONG


def remember(
    state: State, lesson: Lesson, fingerprint: str, word: str, steps: dict[str, str], only: int | None
) -> None:
    """After a check of the step `only`, or of all. What it does not speak of stays as it was last checked."""
    known = state.record(lesson)
    about = only or next((int(step) for step, one in steps.items() if one == WRONG), None)
    if word == DOES_NOT_COMPILE:
        steps, about = known.get("steps") or {}, only or known.get("about")
    elif only:
        steps = (known.get("steps") or {}) | steps
        # One step right does not make the lesson right; a full check of the same file may have said so.
        if word == RIGHT:
            word = known.get("verdict") if known.get("fingerprint") == fingerprint else None
        if WRONG in steps.values():
            word = WRONG
    state.update(lesson, fingerprint=fingerprint, verdict=word, steps=steps, about=about, checked=time.time())


def forget(state: State, lesson: Lesson) -> None:
    state.update(lesson, fingerprint=None, verdict=None, steps={}, about=None)


def steps_right(lesson: Lesson, record: dict) -> int:
    return len(lesson.steps) - len(_open_steps(lesson, record))


def next_step(lesson: Lesson, record: dict) -> int | None:
    """The step that the last check was about, unless it is right; then the next that is not, or else the first."""
    open_steps = _open_steps(lesson, record)
    about = record.get("about") or 0
    return next((step for step in open_steps if step >= about), open_steps[0] if open_steps else None)


def _open_steps(lesson: Lesson, record: dict) -> list[int]:
    """Those whose last known result is not right."""
    known = record.get("steps") or {}
    return [step for step in range(1, len(lesson.steps) + 1) if known.get(str(step)) != RIGHT]


def current(lessons: list[Lesson], state: State) -> Lesson:
    """The lesson to work on: of those begun and not right, the one checked last; else the first that is not right."""
    if not lessons:
        raise InternalError("There are no lessons in lessons/.")
    unfinished = [lesson for lesson in lessons if state.verdict(lesson) != RIGHT]
    begun = [lesson for lesson in unfinished if _begun(state.record(lesson))]
    if begun:
        return max(begun, key=lambda lesson: state.record(lesson).get("checked") or 0)
    return unfinished[0] if unfinished else lessons[-1]


def _begun(record: dict) -> bool:
    return record.get("verdict") not in (None, NOT_STARTED) or RIGHT in (record.get("steps") or {}).values()
