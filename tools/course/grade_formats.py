"""Grades as a table, as JSON, as JUnit XML and as Gradescope's results.json. INSTRUCTOR.md describes the fields."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from . import screen
from .grade_points import FULL, NOT_GRADED, LessonGrade, StepGrade
from .verdict import RIGHT

SCHEMA = 1
SHOWN = 5  # lines of a message, in the table: a race takes them
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")  # differs from run to run
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Report:
    seed: str
    students: list[str]
    grades: list[LessonGrade]

    def of(self, student: str) -> list[LessonGrade]:
        return [one for one in self.grades if one.student == student]


def total(grades: list[LessonGrade]) -> float | None:
    """None where a lesson was not graded."""
    points = [one.points for one in grades]
    return None if None in points else round(sum(points), 2)


def repeat(one: LessonGrade) -> str:
    cases = f"FA_RANDOM_CASES={one.random_cases} " if one.random_cases else ""
    return f"{cases}FA_SEED={one.seed} ./course check {one.lesson.number}"


def as_json(report: Report) -> str:
    return (
        json.dumps(
            {
                "schema": SCHEMA,
                "seed": report.seed,
                "students": [
                    {
                        "name": student,
                        "points": total(report.of(student)),
                        "max_points": FULL * len(report.of(student)),
                        "lessons": [_lesson(one) for one in report.of(student)],
                    }
                    for student in report.students
                ],
            },
            indent=2,
        )
        + "\n"
    )


def _lesson(one: LessonGrade) -> dict:
    return {
        "lesson": one.lesson.name,
        "file": one.lesson.exercise,
        "sha256": one.sha256 or None,
        "verdict": one.word,
        "reason": _clean(one.reason),
        "points": one.points,
        "max_points": FULL,
        "input_seed": one.seed,
        "repeat": repeat(one),
        "steps": [
            {
                "step": step.number,
                "title": step.title,
                "state": step.state,
                "points": _points(one, step),
                "max_points": one.points_of_step,
                "tests": step.tests,
                "passed": step.passed,
                "not_run": step.not_run,
                "failed_test": step.test or None,
                "message": _clean(step.message),
                "stop": _clean(step.stop),
            }
            for step in one.steps
        ],
    }


def _points(one: LessonGrade, step: StepGrade) -> float | None:
    if one.word == NOT_GRADED:
        return None
    return one.points_of_step if step.state == RIGHT else 0.0


def junit(report: Report) -> str:
    """A test suite for each student and lesson, a test case for each step. Not graded is an error, not right a failure."""
    root = ElementTree.Element("testsuites", name="course grade")
    for one in report.grades:
        missed = sum(step.state != RIGHT for step in one.steps)
        kind = "error" if one.word == NOT_GRADED else "failure"
        counts = {"failures": "0", "errors": "0", f"{kind}s": str(missed)}
        name = f"{one.student} {one.lesson.name}"
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(name), tests=str(len(one.steps)), **counts)
        for step in one.steps:
            title = f"step {step.number}: {step.title}"
            case = ElementTree.SubElement(suite, "testcase", classname=_xml(name), name=_xml(title))
            if step.state != RIGHT:
                state = one.word if one.reason else step.state
                ElementTree.SubElement(case, kind, message=state).text = _xml(_told(one, step))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def gradescope(report: Report) -> str:
    """A test for each step. If something was not graded, there is no score, since any would be
    wrong: Gradescope then says that the autograder has failed."""
    grades = report.grades
    points = total(grades)
    if points is None:
        said = "Not graded, for a reason of the machine. Submit again, or tell your instructor."
        return json.dumps({"output": said, "output_format": "text", "visibility": "visible"}, indent=2) + "\n"
    document = {
        "score": points,
        "output": "" if grades else "No exercise was handed in.",
        "output_format": "text",
        "visibility": "visible",
        "tests": [
            {
                "name": f"{one.lesson.number} step {step.number}: {step.title}",
                "score": _points(one, step),
                "max_score": one.points_of_step,
                "status": "passed" if step.state == RIGHT else "failed",
                "output": step.state if step.state == RIGHT else _told(one, step),
                "visibility": "visible",
            }
            for one in grades
            for step in one.steps
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _told(one: LessonGrade, step: StepGrade) -> str:
    if one.reason:
        return _clean(f"{one.word}: {one.reason}")
    return _clean("\n".join((f"{step.state}, {_passed(step)}", step.test, step.message, *_stop(step), repeat(one))))


def _passed(step: StepGrade) -> str:
    text = f"{step.passed} of {step.tests} tests passed"
    return text + (f", {step.not_run} not run" if step.not_run else "")


def _stop(step: StepGrade) -> Iterator[str]:
    """Why tests were not run, unless the message says so already."""
    if step.not_run and step.stop and not step.stop.startswith(step.message):
        yield f"Not run: {step.stop}"


def show(report: Report) -> None:
    for student in report.students:
        grades = report.of(student)
        points = total(grades)
        screen.say((_line(student), "bold"), f"  {_number(points)} of {FULL * len(grades)} points")
        if not grades:
            screen.say("no exercise was handed in", indent=2)
        for one in grades:
            word = (screen.mark(one.word) + one.word, screen.style(one.word))
            screen.say(f"{one.lesson.number}  {_number(one.points):>6}  ", word, indent=2)
            for line in _details(one):
                screen.say(line, indent=14)
        screen.code("")


def _details(one: LessonGrade) -> Iterator[str]:
    if one.reason:
        yield from map(_line, one.reason.splitlines())
    for step in () if one.reason else one.steps:
        if step.state != RIGHT:
            yield f"step {step.number}, {step.title}: {step.state}, {_passed(step)}"
            if step.state != "not started":
                for line in (step.test, *step.message.splitlines()[:SHOWN], *_stop(step)):
                    yield f"  {_line(line)}"
    if not one.reason and any(step.state == "wrong" for step in one.steps):
        yield "again, with this file in exercises/:"
        yield repeat(one)


def _number(points: float | None) -> str:
    return "-" if points is None else f"{points:g}"


def _clean(text: str) -> str:
    """Without what differs from run to run, and without characters that a document cannot hold."""
    return _ADDRESS.sub("0x...", _xml(text))


def _line(text: str) -> str:
    """For a terminal: no control characters, which a submission could have chosen."""
    return "".join(one if one.isprintable() else "?" for one in _clean(text))


def _xml(text: str) -> str:
    return _NOT_IN_XML.sub("?", text)
