"""Reads lessons/NN/quiz.py, which is a part of the course as tools/ is: QUESTIONS and PREDICTION."""

import random
import runpy
from collections.abc import Callable
from dataclasses import dataclass

from .errors import UsageError
from .lessons import Lesson
from .prediction import Prediction
from .question import Question

FILE = "quiz.py"


@dataclass(frozen=True)
class Kind:
    """A template. Its name is remembered, so it should stay."""

    name: str  # bytes_read
    make: Callable[[random.Random], Question]

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")

    def draw(self, lesson: Lesson, seed: int) -> Question:
        return self.make(random.Random(f"{lesson.number} {self.name} {seed}"))


@dataclass(frozen=True)
class QuizFile:
    kinds: tuple[Kind, ...]
    prediction: Prediction | None


def read(lesson: Lesson) -> QuizFile:
    path = lesson.folder / FILE
    if not path.exists():
        raise UsageError(f"Lesson {lesson.number} has no questions yet: it has no lessons/{lesson.name}/{FILE}.")
    found = runpy.run_path(str(path))
    kinds = tuple(Kind(make.__name__, make) for make in found["QUESTIONS"])
    return QuizFile(kinds, found.get("PREDICTION"))
