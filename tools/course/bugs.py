"""The lab "find the bug", read from lessons/find_the_bug/lab.toml: kernels with one fault each.

A kernel is checked as a lesson is. It has no steps and no TODO regions: the exercise is the solution with one text replaced.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from . import verdict
from .errors import InternalError, UsageError
from .lessons import ROOT, Lesson

NAME = "find_the_bug"  # its folder in lessons/, exercises/ and solutions/
CATALOG = f"lessons/{NAME}/lab.toml"
TEXT = f"lessons/{NAME}/README.md"

FOUND = "found"
NOT_FOUND = "not found yet"


@dataclass(frozen=True, kw_only=True)
class Bug(Lesson):
    find: str  # in the solution
    replace: str  # in the exercise

    @property
    def place(self) -> str:
        """Its number in the lab: 03."""
        return self.file[:2]

    @property
    def number(self) -> str:
        """In the names of targets and tests."""
        return f"bug{self.place}"

    @property
    def label(self) -> str:
        return self.called

    @property
    def called(self) -> str:
        return f"bug {self.place}"

    @property
    def key(self) -> str:
        return f"{self.name}/{self.file}"

    @property
    def stub_called(self) -> str:
        return "the kernel with its fault"

    def command(self, name: str) -> str:
        return f"./course bug {self.place}" + {"check": "", "solution": " --answer", "reset": " --reset"}[name]

    def for_a_hint(self, step: str = "") -> str:
        return f"{TEXT}, kernel {self.place}"

    def selection(self, step: int | None) -> list[str]:
        return [f"[{self.number}]"]

    def in_words(self, word: str) -> str:
        return {verdict.RIGHT: FOUND, verdict.WRONG: NOT_FOUND}.get(word, word)

    def known_stub(self) -> bytes:
        """Raises InternalError unless the text that is replaced is there exactly once."""
        solution = (self.root / self.solution).read_text(encoding="utf-8")
        if (times := solution.count(self.find)) != 1:
            raise InternalError(
                f"{CATALOG}: what {self.file} replaces occurs {times} times in {self.solution}: must be 1."
            )
        return solution.replace(self.find, self.replace).encode()

    def way_back(self) -> str:
        return f"To bring it back: {self.command('reset')}"


@dataclass(frozen=True)
class Lab:
    title: str
    summary: str
    bugs: tuple[Bug, ...]


def load(root: Path = ROOT) -> Lab | None:
    """None where there is no such lab."""
    try:
        data = tomllib.loads((root / CATALOG).read_text(encoding="utf-8"))
        return Lab(data["title"], data["summary"], tuple(_bug(entry, root) for entry in data["bug"]))
    except FileNotFoundError:
        return None
    except tomllib.TOMLDecodeError as error:
        raise InternalError(f"{CATALOG} is not valid TOML: {error}") from None
    except KeyError as error:
        raise InternalError(f"{CATALOG}: the key {error} is missing.") from None


def _bug(entry: dict, root: Path) -> Bug:
    return Bug(
        root=root,
        name=NAME,
        title=entry["title"],
        summary="",
        file=entry["file"],
        needs=("cuda",),
        steps=(),
        hints=(),
        find=entry["find"],
        replace=entry["replace"],
    )


def find(wanted: str, lab: Lab) -> Bug:
    """Accepts 3 and 03."""
    for bug in lab.bugs:
        if re.fullmatch(r"[0-9]{1,4}", wanted) and int(wanted) == int(bug.place):
            return bug
    known = [f"{bug.place}  {bug.title}" for bug in lab.bugs]
    raise UsageError(f"There is no kernel '{wanted}' in this lab. The kernels are:", *known)
