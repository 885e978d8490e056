"""What kind of failure a message tells of, so that a student is shown the cataloged mistakes that fail in the same way."""

import math
import re
from dataclasses import dataclass

# The first pattern that is found names the kind, and its group the array or buffer. Messages are those of reference/simt,
# reference/fa and the lessons' tests.
_KINDS = {
    "blocks": r"(\w+)\[.*\] is touched by two blocks",
    "race": r"(\w+)(?:\[.*\])? is touched by two threads",
    "copy": r"(\w+)(?:\[.*\])? is (?:read|written) before an asynchronous copy",
    "unset": r"with a fragment that nothing has set",
    "alignment": r"(?:which begins at byte|with ld =) \d+: must be a multiple",
    "unwritten": r"read of (\w+)(?:\[.*\])?, which nothing wrote",
    "barrier": r"barrier that not all threads reach|wait at different barriers",
    "warp": r"of its mask reach|which does not take part|leaves out the lane",
    "room": r"shared memory: (?:'|\d+ bytes)|deal it out differently|that no memory was dealt out",
    "bounds": r"(?:read of|write to|update of) (\w+)\[.*\], which has|"
    r"dimension \d+ of '(\w+)', which has|HBM buffer '(\w+)' .*: (?:read|write)|"
    r"'(\w+)' of \d+ elements was written ",
    "launch": r", launched at \S+: ",
    "sectors": r"sectors",
    "bytes": r"^([a-z]\w*)\b.*: expected \d+ bytes|expected \d+ bytes|\.(?:read|written)_bytes|expected \d+ reads",
    "poison": r"^(\w*).* got poison",
    "nan": r"^(\w*).* (?:expected|got) nan",
    "infinite": r"^(\w*).*: expected -?inf",
    "numbers": r"^(\w*).*: expected ",
}
# One cause may show in several of these ways.
_FAMILIES = (
    {"blocks", "bounds"},
    {"race", "copy", "unwritten", "barrier", "warp"},
    {"room", "launch"},
    {"sectors", "bytes"},
    {"poison", "nan", "infinite", "numbers", "other"},
)
_GOT = re.compile(r"\bgot (.*?)(?: \(|$)", re.MULTILINE)
MOST_NEAR = 3  # mistakes that are shown where none fits


@dataclass(frozen=True)
class Fault:
    kind: str
    array: str = ""  # where the message names one

    def __str__(self) -> str:
        return f"{self.kind} {self.array}".strip()

    def resembles(self, other: "Fault") -> bool:
        return self.kind == other.kind or any({self.kind, other.kind} <= family for family in _FAMILIES)


def classify(message: str, thrown: bool = False) -> Fault:
    """`thrown`: by an exception. One that is none of the emulator's has a cause that no message of a test tells."""
    for kind, pattern in _KINDS.items():
        if found := re.search(pattern, message, re.MULTILINE):
            return Fault(kind, next(filter(None, found.groups()), ""))
    return Fault("exception" if thrown else "other")


def read(text: str) -> Fault | None:
    """From "race s_tile", as it is recorded; None from nothing."""
    return Fault(*text.split(maxsplit=1)) if text else None


def closest(mistakes: list, fault: Fault) -> tuple[list, bool]:
    """Those that fail with the same kind and array, else with the same kind, else in a way that has the same causes; and
    whether they are of the first sort. One alone of the last sort would read like a diagnosis, and is not.

    Where nothing is recorded, nothing is ruled out.
    """
    if any(one.fault is None for one in mistakes):
        return mistakes, True
    exact = [one for one in mistakes if one.fault == fault]
    same_kind = [one for one in mistakes if one.fault.kind == fault.kind]
    alike = [one for one in mistakes if fault.resembles(one.fault)]
    return exact or same_kind or (alike if len(alike) > 1 else []), bool(exact)


def matching(mistakes: list, right: set[str], wrong: set[str], first: str, said: str) -> tuple[list, bool]:
    """As `closest`, by the symptoms: mistakes that explain why the tests `wrong` fail, the test `first` with the message `said`,
    and the tests `right` do not.

    If none explains all of it in the same words: those that do so in other words, of the same kind, or else leave the fewest
    tests unexplained. Where many are equally near, each of them says little.
    """
    possible = [one for one in mistakes if first in one.symptoms.broken and not one.symptoms.broken & right]
    alike = [one for one in possible if same(said, one.symptoms.said)]
    exact = [one for one in alike if wrong <= one.symptoms.broken]
    if exact:
        return exact, True
    kind = classify(said).kind
    near = [one for one in possible if wrong <= one.symptoms.broken and classify(one.symptoms.said).kind == kind]
    if not near:
        fewest = min((len(wrong - one.symptoms.broken) for one in alike), default=0)
        near = [one for one in alike if len(wrong - one.symptoms.broken) == fewest]
    return near if len(near) <= MOST_NEAR else [], False


def same(said: str, other: str) -> bool:
    """Whether two messages tell of the same kind, array and value. Values may differ in rounding."""
    values = [found[1] if (found := _GOT.search(one)) else "" for one in (said, other)]
    if classify(said) != classify(other):
        return False
    try:
        return values[0] == values[1] or math.isclose(*map(float, values), rel_tol=1e-3)
    except ValueError:  # they are no numbers
        return False


@dataclass(frozen=True)
class Symptoms:
    """What all the tests of a lesson told of a mistake."""

    broken: frozenset[str]  # the tests that failed
    said: str  # by the first of them, in its first line


def unpack(recorded: dict) -> dict[str, Symptoms]:
    """From {"tests": ["a", "b"], "mistakes": {"no_scale": ".x lse[i=0]: expected 1, got 2"}}: this one breaks b."""
    symptoms = {}
    for name, told in recorded.get("mistakes", {}).items():
        marks, _, said = told.partition(" ")
        pairs = zip(recorded["tests"], marks, strict=True)
        symptoms[name] = Symptoms(frozenset(test for test, mark in pairs if mark == "x"), said)
    return symptoms
