"""Bytes or FLOP as a sum of terms: its value, how it comes about, and what comes out if something is forgotten."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod

CLOSE = Fraction(1, 100)  # of a number, and right all the same: three digits are enough
_SAME = Fraction(1, 200)  # so near must a number be to that of a slip


@dataclass(frozen=True)
class Slip:
    """What a student gets who makes this mistake."""

    value: Fraction
    what: str  # completes "Your number is what comes out ..."


@dataclass(frozen=True)
class Term:
    what: str  # "q and out"
    factors: tuple[int, ...]  # elements that cross at once
    times: int = 1
    each: str = ""  # "K/V tile": it crosses once for each of `times` of these

    def value(self) -> int:
        return self.times * prod(self.factors)

    def __str__(self) -> str:
        often = f", for each {self.each}, of which there are {self.times}" if self.each else ""
        factors = [self.times] * bool(self.each) + list(self.factors)
        product = " · ".join(f"{one:,}" for one in factors)
        return f"{self.what}{often}: {product}" + (f" = {self.value():,}" if len(factors) > 1 else "")


@dataclass(frozen=True)
class Count:
    """`heads` times the sum of the terms, of which each element has `element_bytes`; FLOP have 1."""

    terms: tuple[Term, ...]
    extents: dict[str, int] = field(default_factory=dict)  # N, D, Tc: factors that may be forgotten
    heads: int = 1
    element_bytes: int = 4
    others: tuple[Slip, ...] = ()  # slips that the terms do not know

    def value(self) -> int:
        return self._elements(self.terms) * self.element_bytes

    def with_heads(self, heads: int) -> "Count":
        others = tuple(Slip(slip.value * heads / self.heads, slip.what) for slip in self.others)
        return replace(self, heads=heads, others=others)

    def beside(self, what: str, other: "Count") -> "Count":
        """With what a student gets who takes the other count for this one."""
        return replace(self, others=(*self.others, Slip(Fraction(other.value()), what)))

    def derivation(self) -> list[str]:
        """A line for each term, and one for the sum."""
        lines = [str(term) for term in self.terms]
        one = sum(term.value() for term in self.terms)
        factors = [f"{one:,}"] + [f"{self.heads:,} heads"] * (self.heads > 1)
        factors += [f"{self.element_bytes} bytes"] * (self.element_bytes > 1)
        if len(self.terms) > 1 or len(factors) > 1:
            sum_of = "together: " if len(self.terms) > 1 else ""
            lines.append(sum_of + " · ".join(factors) + (f" = {self.value():,}" if len(factors) > 1 else ""))
        return lines

    def slips(self) -> list[Slip]:
        found = list(self.others)
        sizes = [(self.element_bytes, "")]
        if self.element_bytes > 1:
            elements = self._elements(self.terms)
            found.append(Slip(Fraction(elements), f"if elements are counted, not bytes: each has {self.element_bytes}"))
            found.append(Slip(Fraction(2 * elements), "with 2 bytes an element: fp32 has 4"))
            sizes.append((1, ", in elements in place of bytes"))
        for size, besides in sizes:
            for what, terms in self._forgotten():
                found.append(Slip(Fraction(self._elements(terms) * size), what + besides))
            if self.heads > 1:
                one = Fraction(self._elements(self.terms) * size, self.heads)
                found.append(Slip(one, f"for one head, and there are {self.heads}{besides}"))
        return [slip for slip in found if slip.value]

    def _forgotten(self) -> Iterable[tuple[str, list[Term]]]:
        if len(self.terms) > 1:
            for left_out in self.terms:
                yield f"without {left_out.what}", [term for term in self.terms if term is not left_out]
        for each in dict.fromkeys(term.each for term in self.terms if term.times > 1):
            once = [replace(term, times=1) if term.each == each else term for term in self.terms]
            yield f"if all of it crosses once, not once for each {each}", once

    def _elements(self, terms: Iterable[Term]) -> int:
        return self.heads * sum(term.value() for term in terms)


def is_close(given: Fraction | float, right: Fraction | float) -> bool:
    return abs(given - right) <= CLOSE * abs(right)


def explain(given: Fraction, right: Fraction, slips: Iterable[Slip] = (), extents: dict[str, int] | None = None) -> str:
    """A sentence about a wrong number: the slips that it fits, else by which factor it is off, and what has this factor."""
    near = [slip for slip in slips if abs(given - slip.value) <= _SAME * abs(slip.value) and slip.value != right]
    if near:
        best = min(near, key=lambda slip: abs(given - slip.value))
        same = dict.fromkeys(slip.what for slip in near if slip.value == best.value)
        return f"Your number is what comes out {', or '.join(same)}."
    return _factor(given, right, extents or {})


def times(ratio: Fraction | float) -> str:
    return f"{float(ratio):,.0f}" if ratio >= 1000 else f"{float(ratio):.3g}"


def _factor(given: Fraction, right: Fraction, extents: dict[str, int]) -> str:
    if given <= 0 or right <= 0:
        return ""
    too_large = given > right
    ratio = given / right if too_large else right / given
    names = "".join(f" = {name}" for name, value in extents.items() if value > 1 and is_close(ratio, value))
    return f"Your number is too {'large' if too_large else 'small'} by a factor of {times(ratio)}{names}."
