"""From the report of a test program to a verdict."""

import signal
from dataclasses import dataclass

from . import process
from .catch_xml import Failure, Property, Report
from .errors import InternalError

RIGHT = "right"
RIGHT_SO_FAR = "right so far"  # what is shown of a step while later ones of its kernel are not written
WRONG = "wrong"
NOT_STARTED = "not started"
DOES_NOT_COMPILE = "does not compile"
SKIPPED = "skipped"  # every test skipped itself: on a GPU, those that look at the bytes which the emulator counts
NOT_REACHED = "not reached"  # of a step: the program stopped before its tests

CATCH2_ALL_SKIPPED = 4  # its exit code


@dataclass(frozen=True)
class Step:
    number: int
    title: str
    state: str
    passed: int
    failed: int


@dataclass(frozen=True)
class Stop:
    """The program ended before its tests did."""

    how: str  # crashed (SIGSEGV), was ended after 60 s, ...
    property: Property | None
    said: str = ""  # the sanitizer's one-line summary


@dataclass(frozen=True)
class Verdict:
    word: str
    steps: tuple[Step, ...]
    passed: int
    failed: int
    not_started: int
    skipped: int = 0
    broken: Property | None = None  # the first property that fails
    failure: Failure | None = None  # and the first thing wrong in it
    stop: Stop | None = None
    talker: Property | None = None  # the first property that printed anything
    complaints: str = ""  # on stderr
    no_device: str = ""  # why no test ran
    properties: tuple[Property, ...] = ()  # all that were reported


def judge(report: Report, run: process.Finished, titles: tuple[str, ...], only: int | None) -> Verdict:
    """`only` is the one step that was asked for."""
    stop = _stop(report, run)
    properties = report.properties
    if not properties and not stop:
        raise InternalError(
            "The test program ran no test, so there is no verdict.", *run.stderr.strip().splitlines()[-3:]
        )
    if not stop:
        _check_consistent(report, run)
    states = [one.state for one in properties]
    steps = tuple(
        _step(number, title, properties, stop) for number, title in enumerate(titles, 1) if only in (None, number)
    )
    broken = next((one for one in properties if one.state == WRONG), None)
    failure = broken.failure if broken else None
    if broken or stop:
        word = WRONG
    elif NOT_STARTED in states:
        word = NOT_STARTED
    else:
        word = RIGHT if RIGHT in states else SKIPPED
    counts = (states.count(state) for state in (RIGHT, WRONG, NOT_STARTED, SKIPPED))
    talker = next((one for one in properties if one.lines), None)
    said = "" if stop and stop.said else complaints(run.stderr)
    return Verdict(word, steps, *counts, broken, failure, stop, talker, said, properties=tuple(properties))


def without_device(reason: str, titles: tuple[str, ...], only: int | None) -> Verdict:
    """Of a program for a GPU, on a machine without one: it compiles, and nothing is known beyond that."""
    steps = [Step(number, title, SKIPPED, 0, 0) for number, title in enumerate(titles, 1) if only in (None, number)]
    return Verdict(SKIPPED, tuple(steps), 0, 0, 0, no_device=reason)


def _stop(report: Report, run: process.Finished) -> Stop | None:
    last = report.properties[-1] if report.properties else None
    inside = last if last and not last.ended else None
    said = sanitizer(run.stderr)
    if run.timed_out:
        return Stop(f"was ended after {run.timed_out:g} s", inside)
    if said:
        return Stop("was ended by the sanitizer", inside, said)
    if run.code == -signal.SIGXFSZ:
        return Stop(f"was ended because it wrote more than {process.MOST_OUTPUT >> 20} MB to stderr", inside)
    if run.code < 0:
        return Stop(f"crashed ({process.signal_name(run.code)})", inside)
    if not report.complete:
        return Stop(f"ended by itself (exit code {run.code})", inside)
    return None


def sanitizer(stderr: str) -> str:
    """What a sanitizer found and where: its summary, or the line of the one for undefined behavior."""
    lines = stderr.splitlines()
    summary = next((line for line in lines if line.startswith("SUMMARY: ")), "")
    detail = next((line for line in lines if ": runtime error: " in line), "")
    return (detail or summary).removeprefix("SUMMARY: ")


def complaints(stderr: str) -> str:
    """Without the line by which the program says which file it tests."""
    return "".join(line for line in stderr.splitlines(True) if not line.startswith("implementation:"))


def _check_consistent(report: Report, run: process.Finished) -> None:
    """The exit code, Catch2's own count and the report must tell the same story before anything is called right."""
    failed = any(one.failures for one in report.properties)
    all_skipped = all(one.state == SKIPPED for one in report.properties)
    expected = run.code != 0 if failed else run.code == (CATCH2_ALL_SKIPPED if all_skipped else 0)
    if report.counted != len(report.properties) or not expected:
        raise InternalError(
            "The test program contradicts itself, so there is no verdict.",
            f"Exit code {run.code}, {report.counted} properties counted, {len(report.properties)} reported, "
            f"{'some' if failed else 'none'} of them failed.",
        )


def _step(number: int, title: str, properties: list[Property], stop: Stop | None) -> Step:
    states = [one.state for one in properties if f"step{number}" in one.tags]
    if not states and not stop:
        raise InternalError(f"No test has the tag [step{number}], so there is no verdict on step {number} ({title}).")
    if WRONG in states:
        state = WRONG
    elif NOT_STARTED in states:
        state = NOT_STARTED
    elif stop and (not states or stop.property is None):
        state = NOT_REACHED
    else:
        state = RIGHT if RIGHT in states else SKIPPED
    return Step(
        number, title, state, len(states) - states.count(WRONG) - states.count(NOT_STARTED), states.count(WRONG)
    )
