"""What kind of failure a message tells of, so that a student is shown the cataloged mistakes that fail in the same way."""

import re
from dataclasses import dataclass

# The first pattern that is found names the kind, and its group the array or buffer. Messages are those of reference/simt,
# reference/fa and the lessons' tests.
_KINDS = {
    "blocks": r"(\w+)\[.*\] is touched by two blocks",
    "race": r"(\w+)(?:\[.*\])? is touched by two threads",
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
    {"race", "unwritten", "barrier", "warp"},
    {"room", "launch"},
    {"sectors", "bytes"},
    {"poison", "nan", "infinite", "numbers", "other"},
)


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
