"""What kind of failure a message tells of, and whether two messages say the same."""

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
    "early": r"read of (\w+)(?:\[.*\])?, which nothing wrote yet",
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
# Where the emulator stops a kernel, one cause may show in several of these ways.
_FAMILIES = (
    {"blocks", "bounds"},
    {"race", "copy", "early", "barrier", "warp"},
    {"race", "copy", "unwritten", "barrier", "warp"},
    {"room", "launch"},
)
# Those in which the emulator stops a kernel; the others come from comparisons.
_BY_EMULATOR = set("blocks race copy unset alignment early unwritten barrier warp room bounds launch".split())
_UNNAMED = re.compile(r"the shared array of [^\s:]+:\d+")  # told by the line that declares it, which differs
_COUNT = re.compile(r" \(\d+ of \d+.*")
_OF = re.compile(r" \(\d+ of (\d+) values differ")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Fault:
    kind: str
    array: str = ""  # where the message names one

    def __str__(self) -> str:
        return f"{self.kind} {self.array}".strip()

    @property
    def by_emulator(self) -> bool:
        return self.kind in _BY_EMULATOR

    def resembles(self, other: "Fault") -> bool:
        return self.kind == other.kind or any({self.kind, other.kind} <= family for family in _FAMILIES)


def classify(message: str, thrown: bool = False) -> Fault:
    """`thrown`: by an exception. One that is none of the emulator's has a cause that no message of a test tells."""
    named = _UNNAMED.sub("shared", message)
    for kind, pattern in _KINDS.items():
        if found := re.search(pattern, named, re.MULTILINE):
            return Fault(kind, next(filter(None, found.groups()), ""))
    return Fault("exception" if thrown else "other")


def readable(info: str) -> str:
    """What a test tells of its case. CAPTURE(N) gives `N := 17`, and of a float that is no number `x := -inff`."""
    return re.sub(r"\b(inf|nan)f\b", r"\1", info.replace(" := ", " = "))


def values(said: str) -> int:
    """How many values were compared, where the message tells."""
    found = _OF.search(said)
    return int(found[1]) if found else 0


def without_count(said: str) -> str:
    """p[row=1]: expected 0.25, got 0.5 (1 of 3 values differ; ...), without what stands in these parentheses."""
    return _COUNT.sub("", said)


def same(said: str, other: str) -> bool:
    """Whether two messages say the same. Numbers may differ in rounding, but for whole ones. The emulator stops whichever thread
    comes first, so that of its messages only the kind and the array count."""
    fault = classify(said)
    if fault != classify(other):
        return False
    if fault.by_emulator:
        return True
    return _same_text(said, other)


def at_same_place(said: str, other: str) -> bool:
    """Whether two comparisons are of the same element with the same number; of several numbers, the same ones differ."""
    (wanted, _, got), (other_wanted, _, other_got) = (one.partition(", got ") for one in (said, other))
    if not got or not other_got:
        return True  # there is no place to compare
    return _same_text(wanted, other_wanted) and _differing(wanted, got) == _differing(other_wanted, other_got)


def _differing(wanted: str, got: str) -> list[bool]:
    """Of "m, l: expected (2, 1)" and "(2, 3)": the second."""
    numbers = (_NUMBER.findall(one) for one in (wanted.partition("expected ")[2], got))
    return [not _close(*pair) for pair in zip(*numbers, strict=False)]


def _same_text(said: str, other: str) -> bool:
    words, numbers = zip(*((_NUMBER.split(one), _NUMBER.findall(one)) for one in (said, other)), strict=True)
    return words[0] == words[1] and all(map(_close, *numbers))


def _close(number: str, other: str) -> bool:
    whole = number.lstrip("-").isdigit() and other.lstrip("-").isdigit()
    return number == other if whole else math.isclose(float(number), float(other), rel_tol=5e-3)
