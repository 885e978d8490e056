"""Wrong edits beside those of the catalog: tests/neighbors.toml. What the runner says of them is tested in tests/test_neighbors.py.

`python -m checks.neighbors record [NN]` (in tools/) builds them, all or those of one lesson, runs all tests but those of random
cases, and records in tests/neighbors.json which fail, and what they say. It builds what it needs in build/cpu.
"""

import json
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from course import catch_xml, lessons, process
from course.build import Build
from course.catch_xml import Failure, Property
from course.errors import CourseError
from course.grade_build import FILE_LIMIT, DoesNotCompile, Workshop
from course.grade_sandbox import Limits

from checks.mistakes import RECORDED, TIME_LIMIT, apply

FOLDER = Path(__file__).resolve().parents[1] / "tests"
CATALOG, RECORD = FOLDER / "neighbors.toml", FOLDER / "neighbors.json"
COMPILING = Limits(seconds=TIME_LIMIT, memory=8 << 10, file=FILE_LIMIT)


@dataclass(frozen=True)
class Neighbor:
    lesson: str  # its number
    name: str
    beside: str  # the cataloged mistake for which it may be taken
    find: str
    replace: str
    same_as: tuple[str, ...] = ()  # cataloged mistakes that it is, looked at by a person: the runner may name these

    @property
    def key(self) -> str:
        return f"{self.lesson} {self.name}"


def catalog() -> list[Neighbor]:
    return [Neighbor(**one) for one in tomllib.loads(CATALOG.read_text(encoding="utf-8"))["neighbor"]]


def edited(one: Neighbor, lesson: lessons.Lesson) -> str:
    """The lesson's solution with it. Raises ValueError unless `find` occurs once."""
    solution = (lesson.root / lesson.solution).read_text(encoding="utf-8")
    return apply({"name": one.key, "find": one.find, "replace": one.replace}, solution)


def recorded() -> dict:
    """{"tests": {"06": ["a", "b"]}, "failures": {"06 a_neighbor": {"b": {"said": "out: expected 1, got 2"}}}}

    And "last": what it says last, where it fails more than once."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"tests": {}, "failures": {}}


def told(record: dict, one: Neighbor) -> list[Property]:
    """What the tests told of it, as the runner reads it from their report."""
    failures = record["failures"][one.key]
    return [
        Property(test, (), "", 0, _failures(**failures[test]) if test in failures else [], ended=True)
        for test in record["tests"][one.lesson]
    ]


def _failures(said: str, thrown: bool = False, last: str = "") -> list[Failure]:
    return [Failure(one, "", 0, (), thrown) for one in (said, last) if one]


def packed(report: catch_xml.Report) -> tuple[list[str], dict[str, dict]]:
    """The tests of a report; and of those that fail, what each says in its first line, first and last."""
    failures = {}
    for one in report.properties:
        if one.failure:
            failures[one.name] = {"said": one.failure.message.splitlines()[0]}
            if one.failure.thrown:
                failures[one.name]["thrown"] = True
            if len(one.failures) > 1:
                failures[one.name]["last"] = one.failures[-1].message.splitlines()[0]
    return [one.name for one in report.properties], failures


def tried(lesson: lessons.Lesson, neighbors: list[Neighbor]) -> Iterator[tuple[Neighbor, catch_xml.Report]]:
    """Each, and the report of the lesson's tests on it."""
    build = Build(lesson.root)
    build.program(f"test_solution_{lesson.number}")
    workshop = Workshop(build, lesson, COMPILING)
    for one in neighbors:
        with TemporaryDirectory(prefix="neighbor-") as folder:
            program = workshop.make(edited(one, lesson).encode(), Path(folder))
            ran = process.limited([str(program), RECORDED, "--order", "decl"], lesson.root, TIME_LIMIT)
        report = catch_xml.parse(ran.report)
        if not report.complete or not all(test.ended for test in report.properties):
            raise ValueError(f"neighbor {one.key} crashes, in place of failing")
        if not any(test.failure for test in report.properties):
            raise ValueError(f"neighbor {one.key} survives: no test fails")
        yield one, report


def record(number: str) -> None:
    """What is recorded of other lessons stays; what is no more in the catalog goes."""
    known, content = catalog(), recorded()
    for lesson in lessons.load():
        ours = [one for one in known if one.lesson == lesson.number]
        if not ours or number not in ("", lesson.number):
            continue
        for one, report in tried(lesson, ours):
            content["tests"][lesson.number], content["failures"][one.key] = packed(report)
            print(f"{one.key}: {len(content['failures'][one.key])} tests fail", flush=True)
        write(known, content)


def write(known: list[Neighbor], content: dict) -> None:
    content = {
        "tests": {one.lesson: content["tests"][one.lesson] for one in known if one.lesson in content["tests"]},
        "failures": {one.key: content["failures"][one.key] for one in known if one.key in content["failures"]},
    }
    RECORD.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int | str:
    numbers = {one.lesson for one in catalog()}
    if arguments[:1] != ["record"] or len(arguments) > 2 or not {*arguments[1:]} <= numbers:
        return "usage: python -m checks.neighbors record [NN]"
    try:
        record("".join(arguments[1:]))
    except (CourseError, DoesNotCompile, ValueError) as error:
        return str(error)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
