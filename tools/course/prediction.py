"""The vocabulary of PREDICTION in lessons/NN/quiz.py: what ./course predict asks before a run, and where it looks after."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from . import counting
from .counting import Count
from .question import Number


@dataclass(frozen=True)
class Asked:
    """One number. It is measured in one benchmark, is a ratio of two times, or stands in a record of plots/data/."""

    name: str  # "bytes read through HBM"
    unit: str = ""
    benchmark: str = ""  # as Google Benchmark names it: v1/N:256
    counter: str = ""  # empty: its time
    over: str = ""  # another benchmark, by whose time that of `benchmark` is divided
    record: str = ""  # a file of plots/data, without .json
    of: str = ""  # what was recorded
    read: Callable[[dict], float] | None = None  # takes the number out of the record
    expected: Count | None = None  # what right code moves
    close: Fraction = counting.CLOSE  # times differ from run to run

    def reader(self) -> Number:
        """Understands what is typed, and tells how it was understood."""
        return Number(Fraction(0), self.unit)

    def benchmarks(self) -> list[str]:
        return [name for name in (self.benchmark, self.over) if name]


@dataclass(frozen=True)
class Prediction:
    shape: str
    asked: tuple[Asked, ...]

    def benchmarks(self) -> list[str]:
        return list(dict.fromkeys(name for one in self.asked for name in one.benchmarks()))


def counted(name: str, benchmark: str, counter: str, expected: Count | None = None, unit: str = "bytes") -> Asked:
    return Asked(name, unit, benchmark, counter, expected=expected)


def ratio_of_times(name: str, benchmark: str, over: str) -> Asked:
    return Asked(name, benchmark=benchmark, over=over, close=Fraction(1, 4))


def recorded(name: str, of: str, record: str, read: Callable[[dict], float]) -> Asked:
    return Asked(name, record=record, of=of, read=read, close=Fraction(1, 4))
