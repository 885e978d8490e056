"""Each cataloged mistake makes its lesson's tests fail, by the test that is meant to catch it.

CMake calls `mistakes.py write LESSON FOLDER`, which writes a copy of the solution with each mistake to FOLDER/<name>/ and prints
the names. `python -m checks mistakes` builds and runs them. `python -m checks.mistakes record [NN]` does so, too, with all of
them or those of one lesson, and records how all of the tests fail: see symptoms.py.
"""

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

if __name__ == "__main__":  # called by CMake, by path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from course import catch_xml
from course.symptoms import RANDOM

from checks import symptoms
from checks.common import JOBS, ROOT, Lesson, Result, build, call, lessons

TIME_LIMIT = 120  # seconds for the two tests that are run with a mistake
TIME_LIMIT_OF_ALL = 1200
RECORDED = f"~[{RANDOM}]"


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


def exactly(name: str) -> str:
    """A test's name as Catch2 takes it on the command line, where commas and brackets have a meaning."""
    return re.sub(r"([\[\],\\])", r"\\\1", name)


def report_of(lesson: Lesson, mistake: dict) -> Path:
    return ROOT / "build/cpu/mistakes" / lesson.name / mistake["name"] / "report.xml"


def judge(lesson: Lesson, mistake: dict) -> Result:
    """Whether it is caught, as is recorded. Of the recorded tests that fail, two are run: the first, which must say what it said,
    and the one that is meant to catch it."""
    told = symptoms.recorded(lesson).get(mistake["name"])
    if told is None:
        return Result(named(lesson, mistake), False, f"how it fails is not recorded; {advice(lesson)}")
    result = fails(lesson, mistake, told.first, mistake["caught_by"])
    if not result.ok:
        return result
    said = symptoms.messages(report_of(lesson, mistake).read_text(encoding="utf-8"))[told.first]
    if symptoms.resembles(told.said, said):
        return result
    return Result(result.name, False, f"says '{said}', recorded is '{told.said}'; {advice(lesson)}")


def judge_by_all_tests(lesson: Lesson, mistake: dict) -> Result:
    return fails(lesson, mistake, mistake["caught_by"], run_all=True)


def named(lesson: Lesson, mistake: dict) -> str:
    return f"{lesson.number} {mistake['name']}"


def advice(lesson: Lesson) -> str:
    return f"run: python -m checks.mistakes record {lesson.number} (in tools/)"


def fails(lesson: Lesson, mistake: dict, *tests: str, run_all: bool = False) -> Result:
    """Whether these tests fail, in a run of them or of all that ends by itself."""
    name = named(lesson, mistake)
    report = report_of(lesson, mistake)
    report.unlink(missing_ok=True)
    binary = ROOT / f"build/cpu/bin/test_mistake_{lesson.number}_{mistake['name']}"
    chosen = RECORDED if run_all else ",".join(map(exactly, dict.fromkeys(tests)))
    limit = TIME_LIMIT_OF_ALL if run_all else TIME_LIMIT
    try:
        ran = call(binary, "--order", "decl", "--reporter", "xml", "--out", report, chosen, timeout=limit)
    except subprocess.TimeoutExpired:
        return Result(name, False, f"does not end within {limit} s")
    if f"implementation: mistake {mistake['name']}" not in ran.stdout:
        return Result(name, False, "the binary does not say that it tests this mistake\n" + ran.stdout)
    if ran.returncode == 0:
        return Result(name, False, f"survives: '{tests[-1]}' passes")
    seen = catch_xml.parse(report.read_text(encoding="utf-8", errors="replace") if report.exists() else "")
    if not seen.complete or not all(one.ended for one in seen.properties):
        return Result(name, False, f"crashes (exit code {ran.returncode}) in place of failing")
    failed = [one.name for one in seen.properties if one.failure]
    for test in tests:
        if test not in failed:
            return Result(name, False, f"not caught by '{test}': what failed is {failed or 'nothing'}")
    return Result(name, True)


def all_tests_recorded(lesson: Lesson) -> Result:
    """None is unknown to the record, and none is recorded that is no more."""
    binary = ROOT / f"build/cpu/bin/test_mistake_{lesson.number}_{lesson.data['mistake'][0]['name']}"
    listed = call(binary, "--list-tests", RECORDED, "--order", "decl", "--reporter", "xml").stdout
    tests = [html.unescape(name) for name in re.findall("<Name>(.*?)</Name>", listed)]
    same = tests == symptoms.packed(lesson).get("tests")
    return Result(f"{lesson.number}: all tests are recorded, in their order", same, advice(lesson))


def run() -> Iterator[Result]:
    results = judged(judge)
    built = next(results)
    yield built
    yield from results
    if built.ok:
        yield from map(all_tests_recorded, lessons())


def judged(judge, number: str = "") -> Iterator[Result]:
    """The mistakes of all lessons, or of one, after they are built."""
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
    """Lesson by lesson, since all of them take long: what is recorded stays, whatever comes of the others."""
    return max(map(record_lesson, chosen(number)))


def record_lesson(lesson: Lesson) -> int:
    failed = [result for result in judged(judge_by_all_tests, lesson.number) if not result.ok]
    for result in failed:
        print(f"FAILED  {result.name}\n{result.detail}", flush=True)
    if failed:
        print(f"{lesson.name}: not recorded", flush=True)
        return 1
    reports = {
        one["name"]: report_of(lesson, one).read_text(encoding="utf-8", errors="replace")
        for one in lesson.data["mistake"]
    }
    print(f"{lesson.name}: {'recorded' if symptoms.write(lesson, reports) else 'as before'}", flush=True)
    return 0


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
