"""Each cataloged mistake makes its lesson's tests fail, by the test that is meant to catch it.

CMake calls `mistakes.py write LESSON FOLDER`, which writes a copy of the solution with each mistake to FOLDER/<name>/ and prints
the names. `python -m checks mistakes` builds and runs them.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

if __name__ == "__main__":  # called by CMake, by path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

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


def judge(lesson: Lesson, mistake: dict) -> Result:
    name = f"{lesson.number} {mistake['name']}"
    report = ROOT / "build/ci/mistakes" / lesson.name / mistake["name"] / "report.xml"
    report.unlink(missing_ok=True)
    binary = ROOT / f"build/ci/bin/test_mistake_{lesson.number}_{mistake['name']}"
    # On the emulator a whole run takes seconds, so there only the test that is meant to catch it is run.
    only = [exactly(mistake["caught_by"])] if lesson.data["file"].endswith(".cu") else []
    ran = call(binary, "--reporter", "xml", "--out", report, *only, timeout=TIME_LIMIT)
    if f"implementation: mistake {mistake['name']}" not in ran.stdout:
        return Result(name, False, "the binary does not say that it tests this mistake\n" + ran.stdout)
    if ran.returncode == 0:
        return Result(name, False, "survives: all tests pass")
    try:
        failed = failing_tests(report.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ElementTree.ParseError) as error:
        return Result(name, False, f"crashes (exit code {ran.returncode}) in place of failing: {error}")
    if mistake["caught_by"] not in failed:
        return Result(name, False, f"not caught by '{mistake['caught_by']}', but by: {'; '.join(sorted(failed))}")
    return Result(name, True)


def run() -> Iterator[Result]:
    built = build("ci", "mistakes")
    yield built
    if not built.ok:
        return
    catalog = [(lesson, mistake) for lesson in lessons() for mistake in lesson.data.get("mistake", [])]
    with ThreadPoolExecutor(JOBS) as pool:
        yield from pool.map(lambda entry: judge(*entry), catalog)


if __name__ == "__main__":
    _, command, name, folder = sys.argv
    assert command == "write"
    try:
        print("\n".join(write(next(lesson for lesson in lessons() if lesson.name == name), Path(folder))))
    except ValueError as error:
        sys.exit(f"lessons/{name}/lesson.toml: {error}")
