"""How each cataloged mistake fails: lessons/NN_name/faults.json, by which the runner chooses the mistakes that it shows. It
chooses better where symptoms.json tells, too, which tests each of them breaks, and what the first of these says. To find that
out, all tests must run, so only lessons whose tests are quick have it.

`python -m checks.mistakes record` (in tools/) writes these files from real runs, and `python -m checks mistakes` compares.
"""

import json
from pathlib import Path

from course import catch_xml
from course.fault import Fault, Symptoms, classify, read, same, unpack
from course.lessons import FAULTS, SYMPTOMS

from checks.common import Lesson


def _read(file: Path) -> dict:
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def recorded(lesson: Lesson) -> dict[str, str]:
    return _read(lesson.folder / FAULTS)


def seen(report: str, test: str) -> Fault | None:
    """The first failure of this test in Catch2's XML."""
    first = next((one.failure for one in catch_xml.parse(report).properties if one.name == test), None)
    return first and classify(first.message, first.thrown)


def whole(lesson: Lesson) -> bool:
    """Whether all tests of a mistake are looked at."""
    return (lesson.folder / SYMPTOMS).exists()


def symptoms(report: str) -> Symptoms:
    wrong = [one for one in catch_xml.parse(report).properties if one.failure]
    return Symptoms(frozenset(one.name for one in wrong), wrong[0].failure.message.splitlines()[0])


def other_symptoms(lesson: Lesson, mistake: str, report: str) -> str:
    """What of them is not as recorded, or nothing."""
    known, now = unpack(_read(lesson.folder / SYMPTOMS)).get(mistake), symptoms(report)
    if known is None:
        return "its symptoms are not recorded"
    if others := known.broken ^ now.broken:
        return f"it breaks others than are recorded: {sorted(others)}"
    by_emulator = not differs(str(classify(known.said)), classify(now.said)) and "got" not in now.said
    return "" if by_emulator or same(known.said, now.said) else f"says '{now.said}', recorded is '{known.said}'"


def differs(before: str | None, now: Fault) -> bool:
    """Which of two blocks is stopped first is not the same on every day: what has the same causes is no difference."""
    known = read(before or "")
    return known is None or not now.resembles(known)


def write(lesson: Lesson, reports: dict[str, str]) -> bool:
    """Records what these reports, by the names of the mistakes, tell. True if that is something new."""
    before, now = recorded(lesson), {}
    for mistake in lesson.data.get("mistake", []):
        name = mistake["name"]
        fault = seen(reports[name], mistake["caught_by"])
        now[name] = str(fault) if differs(before.get(name), fault) else before[name]
    files = {FAULTS: now, **({SYMPTOMS: packed(reports)} if whole(lesson) else {})}
    new = {lesson.folder / name: data for name, data in files.items() if data != _read(lesson.folder / name)}
    for file, data in new.items():
        file.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return bool(new)


def packed(reports: dict[str, str]) -> dict:
    """The tests; and of each mistake a mark for each of them, x if it breaks it, and what the first of these says."""
    tests = [one.name for one in catch_xml.parse(next(iter(reports.values()))).properties]
    told = {name: symptoms(report) for name, report in reports.items()}
    marks = {name: "".join("x" if test in one.broken else "." for test in tests) for name, one in told.items()}
    return {"tests": tests, "mistakes": {name: f"{marks[name]} {one.said}" for name, one in told.items()}}
