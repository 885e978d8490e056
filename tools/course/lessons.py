"""The lessons that exist, read from lessons/*/lesson.toml."""

import hashlib
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from .errors import InternalError, UsageError
from .symptoms import Symptoms, unpack

ROOT = Path(__file__).resolve().parents[2]

SYMPTOMS = "symptoms.json"  # of a lesson: how each mistake fails, which tools/checks/symptoms.py records

# The last number of each part; the last part takes what follows.
PARTS = (
    (4, "I    The mathematics, on the CPU"),
    (7, "II   The GPU"),
    (10, "III  The backward pass"),
    (15, "IV   Today's kernels"),
    (99, "V    Serving"),
)


@dataclass(frozen=True)
class Hint:
    step: int
    text: str


@dataclass(frozen=True)
class Mistake:
    title: str
    caught_by: str  # a property that it breaks
    why: str
    symptoms: Symptoms | None = None  # None: not recorded
    name: str = ""
    step: int | None = None  # in which it is made, where that is not the step of the test which is meant to catch it


@dataclass(frozen=True)
class Lesson:
    root: Path
    name: str  # 01_naive_attention
    title: str
    summary: str
    file: str
    needs: tuple[str, ...]
    steps: tuple[str, ...]  # titles; step k is steps[k - 1]
    hints: tuple[Hint, ...]
    mistakes: tuple[Mistake, ...] = ()
    tiles: tuple[int, int] = (32, 32)  # Br and Bc that ./course profile takes if nobody says otherwise

    @property
    def number(self) -> str:
        return self.name.split("_")[0]

    @property
    def label(self) -> str:
        """What stands before the title."""
        return self.number

    @property
    def called(self) -> str:
        return f"lesson {self.number}"

    @property
    def key(self) -> str:
        """What the runner remembers it by."""
        return self.name

    @property
    def stub_called(self) -> str:
        return "the stub"

    @property
    def part(self) -> str:
        return next(title for last, title in PARTS if int(self.number) <= last)

    @property
    def folder(self) -> Path:
        return self.root / "lessons" / self.name

    @property
    def exercise(self) -> str:
        """Relative to the root, as the test binary spells it."""
        return f"exercises/{self.name}/{self.file}"

    @property
    def solution(self) -> str:
        return f"solutions/{self.name}/{self.file}"

    def command(self, name: str) -> str:
        """The runner's command `name` for this lesson."""
        return f"./course {name} {self.number}"

    def for_a_hint(self, step: str = "") -> str:
        return self.command("hint") + (f" --step {step}" if step else "")

    def in_words(self, verdict: str) -> str:
        return verdict

    def selection(self, step: int | None) -> list[str]:
        """Which tests of the program are those of the step, or all: an argument for Catch2."""
        return [f"[step{step}]"] if step else []

    def known_stub(self) -> bytes | None:
        """The stub, where it is known without git's history."""
        return None

    def in_cuda(self) -> bool:
        return self.file.endswith(".cu")

    def test_targets(self) -> list[str]:
        """Of the tests that do not touch the exercise."""
        given = [f"test_given_{self.number}"] if (self.folder / "test_given.cpp").exists() else []
        return [f"test_solution_{self.number}", *given]

    def read_exercise(self) -> bytes:
        path = self.root / self.exercise
        if path.exists() and not path.is_file():  # to read a pipe would take forever
            raise UsageError(f"{self.exercise} is not a file: move it away.", self.way_back())
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise UsageError(f"{self.exercise} does not exist.", self.way_back()) from None
        except OSError as error:
            raise UsageError(f"{self.exercise} cannot be read: {error.strerror}.") from None

    def in_git(self) -> bool:
        """A downloaded archive is not, and so knows no stub."""
        return (self.root / ".git").exists()

    def way_back(self) -> str:
        if self.in_git():
            return f"To get the empty exercise: {self.command('reset')}"
        return "To get the empty exercise, take this file from a fresh download of the course."

    def fingerprint(self) -> str:
        """Changes with the exercise and with the tests that judge it."""
        digest = hashlib.sha256(self.read_exercise())
        for path in sorted(self.folder.glob("*.[ch]*")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()


def load(root: Path = ROOT) -> list[Lesson]:
    """All lessons in order."""
    return [_read(path, root) for path in sorted(root.glob("lessons/[0-9][0-9]_*/lesson.toml"))]


def find(wanted: str, lessons: list[Lesson]) -> Lesson:
    """Accepts 1, 01 or 01_naive_attention."""
    for lesson in lessons:
        if wanted == lesson.name or (re.fullmatch(r"[0-9]{1,4}", wanted) and int(wanted) == int(lesson.number)):
            return lesson
    known = [f"{lesson.name}  {lesson.title}" for lesson in lessons] or ["none yet"]
    raise UsageError(f"There is no lesson '{wanted}'. The lessons are:", *known)


def after(lesson: Lesson, lessons: list[Lesson]) -> Lesson | None:
    return next((one for one in lessons if one.number > lesson.number), None)


def _read(path: Path, root: Path) -> Lesson:
    where = path.relative_to(root)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        steps = tuple(step["title"] for step in data["step"])
        hints = tuple(Hint(hint["step"], hint["text"].strip("\n").rstrip()) for hint in data.get("hint", []))
        mistakes = _mistakes(data.get("mistake", []), path.parent)
        for hint in hints:
            if hint.step not in range(1, len(steps) + 1):
                raise InternalError(f"{where}: a hint is for step {hint.step}; the lesson has steps 1 to {len(steps)}.")
        for one in mistakes:
            if one.step is not None and one.step not in range(1, len(steps) + 1):
                raise InternalError(
                    f"{where}: a mistake is of step {one.step}; the lesson has steps 1 to {len(steps)}."
                )
        needs = tuple(data.get("needs", ["cpu"]))
        tiles = data.get("tiles", {"br": 32, "bc": 32})
        what = (data["title"], data["summary"], data["file"])
        return Lesson(root, path.parent.name, *what, needs, steps, hints, mistakes, (tiles["br"], tiles["bc"]))
    except tomllib.TOMLDecodeError as error:
        raise InternalError(f"{where} is not valid TOML: {error}") from None
    except KeyError as error:
        raise InternalError(f"{where}: the key {error} is missing.") from None


def _mistakes(catalog: list[dict], folder: Path) -> tuple[Mistake, ...]:
    symptoms = _recorded(folder / SYMPTOMS)
    return tuple(
        Mistake(
            one["title"],
            one["caught_by"],
            one["why"].strip(),
            symptoms.get(name := one.get("name", "")),
            name,
            one.get("step"),
        )
        for one in catalog
    )


def _recorded(file: Path) -> dict[str, Symptoms]:
    try:
        return unpack(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:  # JSON or UTF-8; what is in it; nested without end
        where = f"lessons/{file.parent.name}/{file.name}"
        raise InternalError(f"{where} is damaged: {error}", f"To get it back: git checkout -- {where}") from None
