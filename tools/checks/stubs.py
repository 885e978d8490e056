"""Stubs compile, are reported as "not started", and fail: nobody passes a lesson by doing nothing."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from itertools import chain

from checks.common import ROOT, Lesson, Result, build, call, lessons


def check_binary(lesson: Lesson) -> Result:
    """Every test case of the stub fails, with nothing but "not started"."""
    name = f"{lesson.number} every test of the stub is not started"
    report = ROOT / f"build/cpu/stub_{lesson.number}.xml"
    report.unlink(missing_ok=True)
    ran = call(ROOT / f"build/cpu/bin/test_exercise_{lesson.number}", "--reporter", "xml", "--out", report, timeout=60)
    if f"implementation: exercise exercises/{lesson.name}/" not in ran.stdout:
        return Result(name, False, "the binary does not say that it tests the exercise\n" + ran.stdout)
    if ran.returncode == 0:
        return Result(name, False, "the stub passes")
    cases = list(ElementTree.parse(report).getroot().iter("TestCase"))
    for case in cases:
        messages = [(element.text or "").strip() for element in case.iter("Exception")]
        others = [element.tag for element in case.iter() if element.tag in ("Failure", "FatalErrorCondition")]
        # An assertion in which "not started" was thrown carries that as its exception; another one was really wrong.
        others += [
            "a failed assertion"
            for expression in case.iter("Expression")
            if expression.get("success") == "false" and expression.find("Exception") is None
        ]
        if others or not messages or not all(message.startswith("not started: ") for message in messages):
            return Result(name, False, f"'{case.get('name')}' says {[*messages, *others] or 'nothing'}")
    return Result(name, bool(cases), f"{len(cases)} test cases")


def check_runner(lesson: Lesson) -> Result:
    ran = call(ROOT / "course", "check", lesson.number, timeout=300)
    ok = ran.returncode == 1 and "not started" in ran.stdout
    return Result(f"{lesson.number} ./course check says not started", ok, f"exit code {ran.returncode}\n{ran.stdout}")


def programs(lesson: Lesson) -> list[str]:
    return [f"{kind}_exercise_{lesson.number}" for kind in ("test", "bench")]


def run() -> Iterator[Result]:
    build("cpu", *chain.from_iterable(map(programs, lessons())))  # on all cores; what is wrong is told for each
    for lesson in lessons():
        built = build("cpu", *programs(lesson))
        yield Result(f"{lesson.number} the stub compiles", built.ok, built.detail)
        if built.ok:
            yield check_binary(lesson)
            yield check_runner(lesson)
