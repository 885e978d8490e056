"""Points: each lesson is worth 100, in equal parts for its steps. A step earns its part when all of its tests pass."""

import hashlib
import os
from dataclasses import dataclass
from fractions import Fraction

from .lessons import Lesson
from .verdict import NOT_STARTED, RIGHT, WRONG

FULL = 100  # points of a lesson
MISSING = "missing"
REFUSED = "refused"
NOT_GRADED = "not graded"  # for a reason of the machine


@dataclass(frozen=True)
class StepGrade:
    number: int
    title: str
    state: str  # right, wrong, not started; not run: the file came to no test
    tests: int = 0
    passed: int = 0
    test: str = ""  # the first one that did not pass
    message: str = ""  # and what it said
    not_run: int = 0  # tests that the program did not come to
    stop: str = ""  # because it ended: how, and in which test


@dataclass(frozen=True)
class LessonGrade:
    student: str
    lesson: Lesson
    word: str
    steps: tuple[StepGrade, ...]
    seed: int
    reason: str = ""  # where no test ran
    sha256: str = ""  # of the file that was graded
    random_cases: int = 0  # 0: as many as the lesson draws

    @property
    def points(self) -> float | None:
        """None: not graded, so not known."""
        if self.word == NOT_GRADED:
            return None
        return rounded(Fraction(FULL * sum(one.state == RIGHT for one in self.steps), len(self.steps)))

    @property
    def points_of_step(self) -> float:
        return rounded(Fraction(FULL, len(self.steps)))


def without_tests(student: str, lesson: Lesson, word: str, reason: str, seed: int, sha256: str = "") -> LessonGrade:
    steps = [StepGrade(number, title, "not run") for number, title in enumerate(lesson.steps, 1)]
    return LessonGrade(student, lesson, word, tuple(steps), seed, reason, sha256)


def word_of(steps: tuple[StepGrade, ...]) -> str:
    states = [one.state for one in steps]
    return next((word for word in (WRONG, NOT_STARTED) if word in states), RIGHT)


def rounded(points: Fraction) -> float:
    """To hundredths, half of one upward; from the exact fraction, once."""
    return int(points * 100 + Fraction(1, 2)) / 100


def seed_of(text: str, student: str) -> int:
    """Of the inputs in tests. 48 bits, which every reader of JSON takes as they are."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape") + b"\0" + os.fsencode(student)).digest()
    return int.from_bytes(digest[:6], "big")
