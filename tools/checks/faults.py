"""How each cataloged mistake fails: lessons/NN_name/faults.json, by which the runner chooses the mistakes that it shows.

`python -m checks.mistakes record` (in tools/) writes these files from real runs, and `python -m checks mistakes` compares.
"""

import json

from course import catch_xml
from course.fault import Fault, classify, read
from course.lessons import FAULTS

from checks.common import Lesson


def recorded(lesson: Lesson) -> dict[str, str]:
    file = lesson.folder / FAULTS
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def seen(report: str, test: str) -> Fault | None:
    """The first failure of this test in Catch2's XML."""
    failures = (one.failures for one in catch_xml.parse(report).properties if one.name == test)
    first = next((found[0] for found in failures if found), None)
    return first and classify(first.message, first.thrown)


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
    if now == before:
        return False
    (lesson.folder / FAULTS).write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    return True
