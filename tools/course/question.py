"""The vocabulary of lessons/NN/quiz.py: a question, and the kinds of answers that can be judged.

An answer has `how`, which tells what to type; `read`, which understands it or raises amount.NotUnderstood; `words`, how
it was understood; `is_right`; `remark`, a sentence about a wrong one, or nothing; and `text`, the right one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from . import amount, counting
from .amount import NotUnderstood
from .counting import Count, Slip

ENOUGH = "1% is close enough"
# Of numbers that are no bytes: what three digits after the point may be off.
ROUNDED = Fraction(1, 2000)
DIGITS = "1% or three digits after the point are enough"


@dataclass(frozen=True)
class Number:
    value: Fraction
    unit: str = ""
    exact: bool = False
    slips: tuple[Slip, ...] = ()
    extents: dict[str, int] = field(default_factory=dict)

    @property
    def how(self) -> str:
        what = f"a number of {self.unit}" if self.unit else "a number"
        return f"{what}, exactly" if self.exact else f"{what}; {ENOUGH if self.unit else DIGITS}"

    def read(self, text: str) -> Fraction:
        return amount.parse(text, self.unit)

    def words(self, given: Fraction) -> str:
        return amount.words(given, self.unit)

    def is_right(self, given: Fraction) -> bool:
        if self.exact or self.unit:
            return given == self.value if self.exact else counting.is_close(given, self.value)
        return _is_near(given, self.value)

    def remark(self, given: Fraction) -> str:
        return counting.explain(given, self.value, self.slips, self.extents)

    @property
    def text(self) -> str:
        return self.words(self.value)


@dataclass(frozen=True)
class Numbers:
    """Several of them, by name. An int must be exact."""

    values: dict[str, float]

    @property
    def how(self) -> str:
        names = f"{', '.join(self.values)}, with spaces between"
        return names if all(isinstance(value, int) for value in self.values.values()) else f"{names}; {DIGITS}"

    def read(self, text: str) -> list[Fraction]:
        parts = [part for part in re.split(r"[;,\s]+", re.sub(r"[^\s=;,]+\s*=", " ", text.strip())) if part]
        if len(parts) != len(self.values):
            raise NotUnderstood(f"{len(self.values)} numbers are asked for: {', '.join(self.values)}.")
        return [amount.parse(part) for part in parts]

    def words(self, given: Sequence[Fraction]) -> str:
        return ", ".join(f"{name} = {amount.words(one)}" for name, one in zip(self.values, given, strict=True))

    def is_right(self, given: Sequence[Fraction]) -> bool:
        return not self._wrong(given)

    def remark(self, given: Sequence[Fraction]) -> str:
        wrong = self._wrong(given)
        return "" if len(wrong) == len(self.values) else f"Not right: {', '.join(wrong)}."

    def _wrong(self, given: Sequence[Fraction]) -> list[str]:
        pairs = zip(self.values.items(), given, strict=True)
        return [
            name
            for (name, value), one in pairs
            if not (one == value if isinstance(value, int) else _is_near(float(one), value))
        ]

    @property
    def text(self) -> str:
        return ", ".join(f"{name} = {amount.words(value)}" for name, value in self.values.items())


@dataclass(frozen=True)
class Choice:
    options: tuple[str, ...]
    right: int  # its place

    @property
    def how(self) -> str:
        return f"a letter, a to {self._letter(len(self.options) - 1)}"

    def read(self, text: str) -> int:
        typed = text.strip().lower().rstrip(").")
        for place, option in enumerate(self.options):
            if typed in (self._letter(place), option.lower()):
                return place
        raise NotUnderstood(f"'{text.strip()}' is none of them: {self.how}.")

    def words(self, given: int) -> str:
        return f"{self._letter(given)}) {self.options[given]}"

    def is_right(self, given: int) -> bool:
        return given == self.right

    def remark(self, given: int) -> str:
        return ""

    @property
    def text(self) -> str:
        return self.words(self.right)

    @staticmethod
    def _letter(place: int) -> str:
        return "abcdefgh"[place]


@dataclass(frozen=True)
class Span:
    """Numbers that follow one another, such as the keys that a query sees: `values`, which may be empty."""

    values: range

    how = "such as 3-7, or 4, or none"

    def read(self, text: str) -> range:
        typed = text.strip().lower()
        if typed in ("none", "no", "nothing"):
            return range(0)
        if found := re.fullmatch(r"(\d{1,9})(?:\s*(?:-|–|to|\.\.+|…)\s*(\d{1,9}))?", typed):
            first, last = int(found[1]), int(found[2] or found[1])
            if first <= last:
                return range(first, last + 1)
        raise NotUnderstood(f"'{text.strip()}' is not understood: write it {self.how}.")

    def words(self, given: range) -> str:
        return f"{given[0]} to {given[-1]}" if len(given) > 1 else f"{given[0]} alone" if given else "none"

    def is_right(self, given: range) -> bool:
        return given == self.values

    def remark(self, given: range) -> str:
        off = [abs(given[at] - self.values[at]) for at in (0, -1)] if given and self.values else []
        return "It is off by one." if off and max(off) == 1 else ""

    @property
    def text(self) -> str:
        return self.words(self.values)


def _is_near(given: Fraction | float, right: Fraction | float) -> bool:
    return counting.is_close(given, right) or abs(given - right) <= ROUNDED


Answer = Number | Numbers | Choice | Span


@dataclass(frozen=True)
class Question:
    """`rule` is one line, which is shown after a right answer, too; `why` the derivation with the numbers asked for."""

    text: str
    answer: Answer
    rule: str
    why: tuple[str, ...] = ()


def count(text: str, counted: Count, rule: str, unit: str = "bytes") -> Question:
    """The answer, its derivation and the slips come from the terms."""
    answer = Number(Fraction(counted.value()), unit, slips=tuple(counted.slips()), extents=counted.extents)
    return Question(text, answer, rule, tuple(counted.derivation()))


def whole(text: str, value: int, rule: str, why: Iterable[str] = (), unit: str = "") -> Question:
    """A number that must be exact."""
    return Question(text, Number(Fraction(value), unit, exact=True), rule, tuple(why))


def number(text: str, value: float | Fraction, rule: str, why: Iterable[str] = (), unit: str = "") -> Question:
    return Question(text, Number(Fraction(value), unit), rule, tuple(why))


def numbers(text: str, values: dict[str, float], rule: str, why: Iterable[str] = ()) -> Question:
    return Question(text, Numbers(values), rule, tuple(why))


def choice(text: str, options: Sequence[str], right: str, rule: str, why: Iterable[str] = ()) -> Question:
    return Question(text, Choice(tuple(options), list(options).index(right)), rule, tuple(why))


def span(text: str, values: range, rule: str, why: Iterable[str] = ()) -> Question:
    return Question(text, Span(values), rule, tuple(why))
