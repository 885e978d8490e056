"""Each cataloged mistake makes its lesson's tests fail, by the test that is meant to catch it.

CMake calls `mistakes.py write LESSON FOLDER`, which writes a copy of the solution with each mistake to FOLDER/<name>/ and prints
the names. `python -m checks mistakes` builds and runs them. `python -m checks.mistakes record [NN]` does so, too, with all of
them or those of one lesson, and records how each of them fails: see faults.py.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

if __name__ == "__main__":  # called by CMake, by path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checks import faults
from checks.common import JOBS, ROOT, Lesson, Result, build, call, lessons

TIME_LIMIT = 120  # seconds for one mistake


def apply(mistake: dict, solution: str) -> str:
    """The solution with the mistake in it. Raises ValueError unless `find` occurs exactly once."""
    occurrences = solution.count(mistake["find"])
    if occurrences != 1:
        raise ValueError(f"mistake {mistake['name']}: 'find' occurs {occurrences} times in the solution, must be once")
    return solution.replace(mistake["find"], mistake["replace"])


def write(lesson: Lesson, folder: Path) -> list[str]:
    """Writes the mistaken copies; touches only what has changed, so that nothing is compiled twice."""
    solution = lesson.solution.read_text(encoding="utf-8")
    names = []
    for mistake in lesson.data.get("mistake", []):
        text = apply(mistake, solution)
        file = folder / mistake["name"] / lesson.data["file"]
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
        names.append(mistake["name"])
    return names


def failing_tests(report: str) -> set[str]:
    """The names of the test cases that failed, from Catch2's XML. Raises ParseError if the report is cut off."""
    root = ElementTree.fromstring(report)
    cases = root.iter("TestCase")
    return {case.get("name", "") for case in cases if case.find("OverallResult").get("success") != "true"}


def exactly(name: str) -> str:
    """A test's name as Catch2 takes it on the command line, where commas and brackets have a meaning."""
    return re.sub(r"([\[\],\\])", r"\\\1", name)


def report_of(lesson: Lesson, mistake: dict) -> Path:
    return ROOT / "build/cpu/mistakes" / lesson.name / mistake["name"] / "report.xml"


def judge(lesson: Lesson, mistake: dict) -> Result:
    """Whether it is caught, and in the way that is recorded."""
    result = caught(lesson, mistake)
    if result.ok:
        report = report_of(lesson, mistake).read_text(encoding="utf-8")
        told = faults.recorded(lesson).get(mistake["name"])
        fault = faults.seen(report, mistake["caught_by"])
        advice = f"run: python -m checks.mistakes record {lesson.number} (in tools/)"
        if faults.differs(told, fault):
            return Result(result.name, False, f"fails by '{fault}', recorded is '{told}'\n{advice}")
        if faults.whole(lesson) and (other := faults.other_symptoms(lesson, mistake["name"], report)):
            return Result(result.name, False, f"{other}\n{advice}")
    return result


def caught(lesson: Lesson, mistake: dict) -> Result:
    name = f"{lesson.number} {mistake['name']}"
    report = report_of(lesson, mistake)
    report.unlink(missing_ok=True)
    binary = ROOT / f"build/cpu/bin/test_mistake_{lesson.number}_{mistake['name']}"
    tests = [] if faults.whole(lesson) else [exactly(mistake["caught_by"])]
    ran = call(binary, "--order", "decl", "--reporter", "xml", "--out", report, *tests, timeout=TIME_LIMIT)
    if f"implementation: mistake {mistake['name']}" not in ran.stdout:
        return Result(name, False, "the binary does not say that it tests this mistake\n" + ran.stdout)
    if ran.returncode == 0:
        return Result(name, False, f"survives: '{mistake['caught_by']}' passes")
    try:
        failed = failing_tests(report.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ElementTree.ParseError) as error:
        return Result(name, False, f"crashes (exit code {ran.returncode}) in place of failing: {error}")
    if mistake["caught_by"] not in failed:
        return Result(
            name, False, f"not caught by '{mistake['caught_by']}': what failed is {sorted(failed) or 'nothing'}"
        )
    return Result(name, True)


def run(judge=judge, number: str = "") -> Iterator[Result]:
    """Of all lessons, or of one."""
    catalog = [(lesson, mistake) for lesson in chosen(number) for mistake in lesson.data.get("mistake", [])]
    targets = [f"test_mistake_{number}_{mistake['name']}" for _, mistake in catalog] if number else ["mistakes"]
    built = build("ci", *targets)
    yield built
    if not built.ok:
        return
    with ThreadPoolExecutor(JOBS) as pool:
        yield from pool.map(lambda entry: judge(*entry), catalog)


def chosen(number: str) -> list[Lesson]:
    return [lesson for lesson in lessons() if number in ("", lesson.number)]


def record(number: str) -> int:
    failed = [result for result in run(caught, number) if not result.ok]
    for result in failed:
        print(f"FAILED  {result.name}\n{result.detail}")
    for lesson in [] if failed else chosen(number):
        catalog = lesson.data.get("mistake", [])
        reports = {one["name"]: report_of(lesson, one).read_text(encoding="utf-8") for one in catalog}
        print(f"{lesson.name}: {'recorded' if faults.write(lesson, reports) else 'as before'}")
    return 1 if failed else 0


def main(arguments: list[str]) -> int | str:
    if arguments[:1] == ["record"] and len(arguments) <= 2 and chosen("".join(arguments[1:])):
        return record("".join(arguments[1:]))
    if len(arguments) != 3 or arguments[0] != "write":
        return "usage: mistakes.py write LESSON FOLDER, or: python -m checks.mistakes record [NN]"
    _, name, folder = arguments
    try:
        print("\n".join(write(next(lesson for lesson in lessons() if lesson.name == name), Path(folder))))
    except ValueError as error:
        return f"lessons/{name}/lesson.toml: {error}"
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
