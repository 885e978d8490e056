"""Which cataloged mistake a wrong result comes from, by what all tests told of it; and the smallest input on which it shows."""

import math
import re

from . import fault, gpu, screen, symptoms
from .build import Build
from .catch_xml import Failure, Property
from .lessons import Lesson, Mistake
from .verdict import RIGHT, WRONG, Verdict

# As fa::Shape is written, in what a test tells of its case.
_SHAPE = re.compile(r"\bB=(\d+) H=(\d+) Nq=(\d+) Nk=(\d+) D=(\d+)")


def show(lesson: Lesson, found: Verdict, build: Build) -> None:
    """Under the first property that fails. A mistake is blamed only where it alone explains all that the tests told."""
    known, exact = _chosen(lesson, found, build)
    if not known:
        return
    screen.code("")
    if exact and len(known) == 1 and build.preset != gpu.PRESET:
        screen.say(("This is a known mistake: ", "bold"), known[0].title, indent=4)
        _why(known[0])
        _smallest(found)
        return
    if exact:
        screen.say("Some mistakes that fail like this (yours may be another):", indent=4)
    else:
        near = "This comes near:" if len(known) == 1 else "These come near:"
        screen.say(f"None of the known mistakes fails exactly so. {near}", indent=4)
    for one in known:
        screen.say(screen.BULLET + one.title, indent=6)
    if exact and len(known) == 1:
        _why(known[0])


def _why(mistake: Mistake) -> None:
    screen.say(" ".join(mistake.why.split()), indent=6)


def _chosen(lesson: Lesson, found: Verdict, build: Build) -> tuple[list[Mistake], bool]:
    """The mistakes that may be meant, and whether they fit exactly. A GPU tells less than the emulator, so there all that
    this test is meant to catch may be meant."""
    failure = found.failure
    if fault.classify(failure.message, failure.thrown).kind == "exception":
        return [], False
    if build.preset == gpu.PRESET:
        return [one for one in lesson.mistakes if one.caught_by == found.broken.name], True
    recorded = [one for one in found.properties if symptoms.RANDOM not in one.tags]
    right = {one.name for one in recorded if one.state == RIGHT}
    wrong = {one.name: one.failure.message.splitlines()[0] for one in recorded if one.failure}
    if not wrong:
        return [], False
    known, exact = symptoms.matching([one for one in lesson.mistakes if one.symptoms], right, wrong)
    return known, exact and not found.stop  # none of them stops the program


def _smallest(found: Verdict) -> None:
    """Of all inputs on which a test failed."""
    failure = smallest(found.properties)
    if failure is None:
        return
    if failure is found.failure:
        screen.say("No test found a smaller input on which it shows.", indent=6)
        return
    screen.say("The smallest input on which it shows:", indent=6)
    where, said = _case(failure)
    screen.say(where, indent=8)
    screen.say(fault.without_count(said), indent=8)


def _case(failure: Failure) -> tuple[str, str]:
    """The input and what it gave. A test of random cases tells both in its message."""
    lines = failure.message.splitlines()
    for line, after in zip(lines, lines[1:], strict=False):
        if _SHAPE.search(line):
            return line, after
    return ", ".join(info.replace(" := ", " = ") for info in failure.context), lines[0]


def smallest(properties: tuple[Property, ...]) -> Failure | None:
    """The failure with the fewest multiplications of queries by keys, among those that name their shape."""
    failures = [failure for one in properties if one.state == WRONG for failure in one.failures]
    sizes = {at: _size(failure) for at, failure in enumerate(failures) if not failure.not_started}
    named = {at: size for at, size in sizes.items() if size is not None}
    return failures[min(named, key=named.get)] if named else None


def _size(failure: Failure) -> int | None:
    shape = _SHAPE.search(_case(failure)[0])
    return math.prod(max(1, int(extent)) for extent in shape.groups()) if shape else None
