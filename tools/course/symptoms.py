"""How each cataloged mistake fails: lessons/NN_name/symptoms.json, and which mistakes explain what a student's tests tell.

The file holds which tests a mistake breaks, and what the first of them says; of mistakes that are alike in that, and of those
that are known by a number of bytes, what others say, too, if it tells more. `python -m checks.mistakes record` writes it from
real runs, without the tests of random cases: those take long, and what they show is not one input but the least that was found.
"""

import re
from dataclasses import dataclass, field

from .fault import at_same_place, classify, same

MOST_NEAR = 3  # mistakes that are shown where none fits
_LINE = re.compile(r"(?<=\.cu):\d+")
RANDOM = "random"  # the tag of tests that are not recorded


@dataclass(frozen=True)
class Symptoms:
    broken: tuple[str, ...]  # the tests that fail, in order
    said: str  # by the first of them, in its first line
    also: dict[str, str] = field(default_factory=dict)  # what some of them say besides, where that tells more

    @property
    def first(self) -> str:
        return self.broken[0]


def unpack(recorded: dict) -> dict[str, Symptoms]:
    """From {"tests": ["a", "b"], "mistakes": {"no_scale": ".x lse[i=0]: expected 1, got 2"}}: this one breaks b.

    And "apart": {"no_scale": {"b": "what b says"}}. Raises ValueError for what is no such record.
    """
    try:
        return _unpacked(recorded)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a record of symptoms: {error}") from None


def _unpacked(recorded: dict) -> dict[str, Symptoms]:
    symptoms, apart = {}, recorded.get("apart", {})
    for name, told in recorded.get("mistakes", {}).items():
        marks, _, said = told.partition(" ")
        pairs = zip(recorded["tests"], marks, strict=True)
        broken = tuple(test for test, mark in pairs if mark == "x")
        symptoms[name] = Symptoms(broken, said, dict(apart.get(name, {}).items()))
    return symptoms


def alike(one: Symptoms, other: Symptoms) -> bool:
    """Whether they cannot be told apart by what is recorded."""
    also = all(same(said, other.also.get(test, said)) for test, said in one.also.items())
    return one.broken == other.broken and same(one.said, other.said) and also


def matching(
    mistakes: list, right: set[str], wrong: dict[str, str], more: dict[str, list[str]] | None = None
) -> tuple[list, bool]:
    """The mistakes that explain why these tests are `wrong`, each with what it says, and those are `right`; and whether they do
    so exactly. `more`: all that a test says, where it fails more than once.

    Of tests that did not run, nothing is known. If no mistake explains all of it in the same words: those that do so in other
    words, of the same kind, or else leave the fewest tests unexplained. Where many are equally near, each of them says little.
    """
    first, said = next(iter(wrong.items()))
    possible = [one for one in mistakes if first in one.symptoms.broken and not right & {*one.symptoms.broken}]
    in_words = [one for one in possible if one.symptoms.first == first and _says(one.symptoms, wrong, more or {})]
    unexplained = {id(one): len({*wrong} - {*one.symptoms.broken}) for one in possible}
    exact = [one for one in in_words if not unexplained[id(one)]]
    if exact:
        return exact, True
    near = [one for one in possible if not unexplained[id(one)] and _comes_near(one.symptoms.said, said)]
    if not near:
        fewest = min((unexplained[id(one)] for one in in_words), default=0)
        near = [one for one in in_words if unexplained[id(one)] == fewest]
    return near if len(near) <= MOST_NEAR else [], False


def _says(one: Symptoms, wrong: dict[str, str], more: dict[str, list[str]]) -> bool:
    """Whether what it says is what these tests say. One that did not run says nothing else."""
    if not _exactly(one.said, wrong[one.first]):
        return False
    told = {test: more.get(test, [wrong.get(test, said)]) for test, said in one.also.items()}
    return all(any(same(said, text) for text in told[test]) for test, said in one.also.items())


def _exactly(known: str, said: str) -> bool:
    """Of the emulator's messages, the same element, too: another one may have another cause. Lines of the file do not count."""
    if not classify(known).by_emulator:
        return same(known, said)
    return same(known, said) and _LINE.sub("", known) == _LINE.sub("", said)


def _comes_near(known: str, said: str) -> bool:
    """Of the same kind; where both name an array, of the same one; and what they compare, at the same place of it. Another
    number of bytes has another cause."""
    ours, theirs = classify(known), classify(said)
    same_array = ours.array == theirs.array or not ours.array or not theirs.array
    return ours.kind == theirs.kind != "bytes" and same_array and at_same_place(known, said)
