"""Which cataloged mistake a wrong result comes from, by what all tests told of it; the step whose hint helps; and the smallest
input on which it shows."""

import math
import re

from . import fault, gpu, screen, steps, symptoms
from .build import Build
from .catch_xml import Failure, Property
from .lessons import Lesson, Mistake
from .verdict import RIGHT, WRONG, Verdict

# As fa::Shape is written, in what a test tells of its case; or each extent by itself.
_EXTENT = re.compile(r"\b(B|H|Nq|Nk|D) ?:?= ?(\d+)\b")
_NEEDED = {"Nq", "Nk", "D"}  # B and H are 1 where they are not told
_ALONE = re.compile(r'^This case alone: (FA_RANDOM_CASE="[^"]*")$', re.MULTILINE)
_BARRIER = re.compile(r"\bthe barrier at \S+")


def show(lesson: Lesson, found: Verdict, build: Build) -> None:
    """Under the first property that fails. A mistake is blamed only where it alone explains all that the tests told."""
    known, exact = _chosen(lesson, found, build)
    blamed = known[0] if _one_is_blamed(known, exact, build) else None
    if known:
        screen.code("")
    if blamed:
        screen.say(("This is a known mistake: ", "bold"), blamed.title, indent=4)
        _why(blamed)
        _where_it_is_made(lesson, blamed, found)
    elif known:
        _list(known, exact)
    _smallest(lesson, found, build, bool(blamed))


def hint_step(lesson: Lesson, found: Verdict, build: Build) -> int | None:
    """The step in which the mistake is made that is blamed; or that of the line at which the program was stopped. A test of
    an earlier step, or of a later one, may fail by either."""
    if found.word != WRONG:
        return None
    if found.failure:
        known, exact = _chosen(lesson, found, build)
        if exact and len(of_known := {steps.of_mistake(lesson, one) for one in known}) == 1:
            return of_known.pop()
    told = found.stop.said if found.stop else found.failure.message
    if step := steps.of_place(lesson, _BARRIER.sub("", told)):
        return step
    # Two threads meet after this barrier, maybe in a later step.
    first = next((step.number for step in found.steps if step.state == WRONG), None)
    after = steps.of_place(lesson, told)
    return after if first and after and after > first else None


def _one_is_blamed(known: list[Mistake], exact: bool, build: Build) -> bool:
    return exact and len(known) == 1 and build.preset != gpu.PRESET


def _list(known: list[Mistake], exact: bool) -> None:
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


def _where_it_is_made(lesson: Lesson, mistake: Mistake, found: Verdict) -> None:
    """Where a hint is offered for a step that all its tests call right."""
    made_in = steps.of_mistake(lesson, mistake)
    if any(step.number == made_in and step.state == RIGHT for step in found.steps):
        screen.say(f"It is made in step {made_in}, whose own tests do not see it.", indent=6)


def _chosen(lesson: Lesson, found: Verdict, build: Build) -> tuple[list[Mistake], bool]:
    """The mistakes that may be meant, and whether they fit exactly. A GPU tells less than the emulator, so there all that
    this test is meant to catch may be meant."""
    failure = found.failure
    if fault.classify(failure.message, failure.thrown).kind == "exception":
        return [], False
    if build.preset == gpu.PRESET:
        return [one for one in lesson.mistakes if one.caught_by == found.broken.name], True
    known, exact = explaining(lesson, found.properties)
    return known, exact and not found.stop  # none of them stops the program


def explaining(lesson: Lesson, properties: tuple[Property, ...] | list[Property]) -> tuple[list[Mistake], bool]:
    """By all that is recorded: not by random cases."""
    recorded = [one for one in properties if symptoms.RANDOM not in one.tags]
    right = {one.name for one in recorded if one.state == RIGHT}
    wrong = {one.name: one.failure.message.splitlines()[0] for one in recorded if one.failure}
    more = {one.name: [failure.message.splitlines()[0] for failure in one.failures] for one in recorded if one.failure}
    if not wrong:
        return [], False
    return symptoms.matching([one for one in lesson.mistakes if one.symptoms], right, wrong, more)


def _smallest(lesson: Lesson, found: Verdict, build: Build, blamed: bool) -> None:
    """Of all inputs on which a test failed, unless the one that is shown already is as small."""
    one, failure = smallest(found.properties, found.failure) or (None, None)
    if failure is None:
        return
    if failure is found.failure or _has_more_values(failure, found.failure):
        if blamed:
            screen.say("No test found a smaller input on which it shows.", indent=6)
        return
    screen.code("")
    screen.say(f"The smallest input on which {'it shows' if blamed else 'a test fails'}:", indent=4)
    where, said = _case(failure)
    screen.say(where, indent=6)
    screen.say(fault.without_count(said), indent=6)
    if command := alone(lesson, one, failure, build):
        screen.say("This case alone:", indent=6)
        screen.code(" " * 6 + command)


def alone(lesson: Lesson, one: Property, failure: Failure, build: Build) -> str:
    """The command line that repeats a random case, or nothing."""
    case = _ALONE.search(failure.message)
    if not case:
        return ""
    step = next((tag.removeprefix("step") for tag in one.tags if re.fullmatch(r"step\d+", tag)), "")
    flags = (f" --step {step}" if step else "") + {gpu.PRESET: " --gpu", "sanitize": " --sanitize"}.get(
        build.preset, ""
    )
    return f"{case[1]} {lesson.command('check')}{flags}"


def without_alone(message: str) -> str:
    """A test's message without its last line, which knows less than alone()."""
    return _ALONE.sub("", message).rstrip("\n")


def _case(failure: Failure) -> tuple[str, str]:
    """The input and what it gave. A test of random cases tells both in its message."""
    lines = failure.message.splitlines()
    for line, after in zip(lines, lines[1:], strict=False):
        if _extents(line):
            return line, after
    return ", ".join(map(fault.readable, failure.context)), lines[0]


def smallest(properties: tuple[Property, ...], shown: Failure) -> tuple[Property, Failure] | None:
    """The failure with the smallest shape, by the product of its extents, of those that name one and say no less than the
    one that is `shown`.

    First those without an extent of 0, where little can be seen, and those that tell what was expected and what came, or what
    the emulator stopped.
    """
    failures = [(one, failure) for one in properties if one.state == WRONG for failure in one.failures]
    sizes = {
        at: _order(failure)
        for at, (_, failure) in enumerate(failures)
        if not failure.not_started and _says_no_less(failure, shown)
    }
    named = {at: size for at, size in sizes.items() if size is not None}
    return failures[min(named, key=named.get)] if named else None


def _order(failure: Failure) -> tuple[bool, bool, int] | None:
    where, said = _case(failure)
    extents = _extents(where)
    if not extents:
        return None
    return 0 in extents, not _tells(said), math.prod(max(1, extent) for extent in extents)


def _tells(said: str) -> bool:
    return bool(re.search("expected .*got ", said)) or fault.classify(said).by_emulator


def _says_no_less(failure: Failure, shown: Failure) -> bool:
    """Wrong bytes say something only of wrong bytes, and those of one buffer, or of a formula, not of another one."""
    ours, theirs = _case(failure)[1], _case(shown)[1]
    told, wanted = fault.classify(ours), fault.classify(theirs)
    if told.kind == "bytes" and (wanted.kind != "bytes" or (wanted.array and told.array != wanted.array)):
        return False
    return _tells(ours) or not _tells(theirs)


def _has_more_values(failure: Failure, shown: Failure) -> bool:
    """Of the same array: how else to compare with an input of which no shape is told?"""
    (_, ours), (where, theirs) = _case(failure), _case(shown)
    same_array = fault.classify(ours).array == fault.classify(theirs).array
    return not _extents(where) and same_array and 0 < fault.values(theirs) < fault.values(ours)


def _extents(where: str) -> list[int]:
    """Of a shape, or nothing where some are not told."""
    told = dict(_EXTENT.findall(where))
    return [int(extent) for extent in told.values()] if told.keys() >= _NEEDED else []
