"""How each cataloged mistake fails: lessons/NN_name/symptoms.json, by which the runner tells which mistake a student has made.

`python -m checks.mistakes record` (in tools/) writes these files from real runs of all tests, and `python -m checks mistakes`
compares.
"""

import json
from dataclasses import replace

from course import catch_xml
from course.fault import classify, same
from course.lessons import SYMPTOMS
from course.symptoms import Symptoms, alike, unpack

from checks.common import Lesson


def packed(lesson: Lesson) -> dict:
    file = lesson.folder / SYMPTOMS
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def recorded(lesson: Lesson) -> dict[str, Symptoms]:
    return unpack(packed(lesson))


def messages(report: str) -> dict[str, str]:
    """From Catch2's XML: the tests that fail, and what each of them says in its first line."""
    return {one.name: one.failure.message.splitlines()[0] for one in catch_xml.parse(report).properties if one.failure}


def last_messages(report: str) -> dict[str, str]:
    """And what each of them says last."""
    failing = (one for one in catch_xml.parse(report).properties if one.failures)
    return {one.name: one.failures[-1].message.splitlines()[0] for one in failing}


def resembles(before: str, now: str) -> bool:
    """Which of two threads or blocks is stopped first is not the same on every day: what has the same causes is no difference."""
    faults = classify(before), classify(now)
    return same(before, now) or (faults[0].by_emulator and faults[1].by_emulator and faults[0].resembles(faults[1]))


def write(lesson: Lesson, reports: dict[str, str]) -> bool:
    """Records what these reports of all tests, by the names of the mistakes, tell. True if that is something new."""
    tests = [one.name for one in catch_xml.parse(next(iter(reports.values()))).properties]
    before, told = recorded(lesson), {name: messages(report) for name, report in reports.items()}
    now = {}
    for name, said in told.items():
        one = Symptoms(tuple(said), next(iter(said.values())))
        old = before.get(name)
        now[name] = replace(one, said=old.said) if old and resembles(old.said, one.said) else one
    marks = {name: "".join("x" if test in one.broken else "." for test in tests) for name, one in now.items()}
    content = {"tests": tests, "mistakes": {name: f"{marks[name]} {one.said}" for name, one in now.items()}}
    last = {name: last_messages(report) for name, report in reports.items()}
    if apart := told_apart(now, told, last):
        content["apart"] = apart
    if content == packed(lesson):
        return False
    text = json.dumps(content, indent=1, ensure_ascii=False)
    (lesson.folder / SYMPTOMS).write_text(text + "\n", encoding="utf-8")
    return True


def groups(now: dict[str, Symptoms]) -> list[list[str]]:
    """The names of mistakes that are alike."""
    found: list[list[str]] = []
    for name, one in now.items():
        group = next((names for names in found if alike(now[names[0]], one)), None)
        if group is None:
            found.append([name])
        else:
            group.append(name)
    return [names for names in found if len(names) > 1]


def told_apart(
    now: dict[str, Symptoms], told: dict[str, dict[str, str]], last: dict[str, dict[str, str]]
) -> dict[str, dict[str, str]]:
    """Of mistakes that are alike, the first test that does not say the same of all of them, and what it says of each. Besides,
    what the tests say last of a mistake that is known by a number of bytes."""
    apart = {}
    for names in groups(now):
        for test in now[names[0]].broken:
            if not all(same(told[names[0]][test], told[name][test]) for name in names):
                apart |= {name: {test: told[name][test]} for name in names}
                break
    others = {name: other_bytes(now[name].said, last[name]) for name in now if name not in apart}
    return apart | {name: other for name, other in others.items() if other}


def other_bytes(said: str, last: dict[str, str]) -> dict[str, str]:
    """Where the first test tells a number of bytes: the tests that end with another one, and what they say. For one shape, a
    wrong formula may give the same number as another by chance; the last shapes are no squares."""
    counts = {test: text for test, text in last.items() if classify(text).kind == "bytes" and not same(text, said)}
    return counts if classify(said).kind == "bytes" else {}
