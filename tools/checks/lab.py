"""The lab "find the bug": each of its kernels has one fault, and the text quotes what `./course bug NN` says to it.

`python -m checks.lab record` writes these reports to lessons/find_the_bug/reports/, from where the text takes them.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from course import bugs
from course.bugs import Bug
from course.errors import InternalError

from checks.common import ROOT, Result, build, call, tail

KERNELS = 10
MOST_LINES = 1  # in which exercise and solution differ
ORDERS = ("backward", "shuffled:1", "shuffled:7")
REPORTS = ROOT / "lessons" / bugs.NAME / "reports"
# With one core, the blocks run in order, so the block that a message names is the same each time.
ONE_CORE = {"FA_SIMT_WORKERS": "1"}


def report_file(bug: Bug) -> Path:
    return REPORTS / f"{Path(bug.file).stem}.txt"


def quoted(output: str) -> str:
    """Of what `./course bug NN` prints: the property, the emulator's report, the case."""
    found = re.search(r"^    This must hold, and does not:\n(.*?)^      the test: ", output, re.MULTILINE | re.DOTALL)
    return "".join(f"{line[6:]}\n" for line in found[1].splitlines()) if found else ""


def report_of(bug: Bug) -> tuple[int, str]:
    """The exit code of ./course bug, and what is quoted of what it prints; all of that if there is nothing to quote."""
    ran = call("env", *(f"{name}={value}" for name, value in ONE_CORE.items()), ROOT / "course", "bug", bug.place)
    return ran.returncode, quoted(ran.stdout) or ran.stdout


def differences(exercise: str, solution: str) -> tuple[int, int]:
    """How many lines only one of the two has: those of the exercise, those of the solution."""
    ours, theirs = exercise.splitlines(), solution.splitlines()
    lines = {*ours, *theirs}
    more = [ours.count(line) - theirs.count(line) for line in lines]
    return sum(max(one, 0) for one in more), sum(max(-one, 0) for one in more)


def wrong_with(bug: Bug) -> str:
    """What is wrong with its two files, or nothing."""
    exercise, solution = ((ROOT / path).read_text(encoding="utf-8") for path in (bug.exercise, bug.solution))
    try:
        made = bug.known_stub().decode()
    except InternalError as error:
        return error.message
    if exercise != made:
        return f"the exercise is not the solution with its fault: ./course bug {bug.place} --reset makes it"
    if max(differences(exercise, solution)) > MOST_LINES or exercise == solution:
        return f"lines that only one of the two has: {differences(exercise, solution)}, must be at most {MOST_LINES}"
    return ""


def missing_parts(lab: bugs.Lab) -> Iterator[str]:
    text = (ROOT / bugs.TEXT).read_text(encoding="utf-8")
    tests = (ROOT / "lessons" / bugs.NAME / "test.cpp").read_text(encoding="utf-8")
    files = [bug.file for bug in lab.bugs]
    for folder in ("exercises", "solutions"):
        if (there := sorted(file.name for file in (ROOT / folder / bugs.NAME).iterdir())) != files:
            yield f"{folder}/{bugs.NAME} holds {there}, and {bugs.CATALOG} names {files}"
    for bug in lab.bugs:
        if f"[{bug.number}]" not in tests:
            yield f"no test has the tag [{bug.number}]"
        for part in (f"\n### {bug.place} ", bug.command("check"), str(report_file(bug).relative_to(ROOT))):
            if part not in text:
                yield f"the text does not have '{part.strip()}'"
    if bugs.TEXT not in (ROOT / "README.md").read_text(encoding="utf-8"):
        yield "README.md does not list the lab"


def check_report(bug: Bug) -> Result:
    code, said = report_of(bug)
    recorded = report_file(bug).read_text(encoding="utf-8") if report_file(bug).exists() else "nothing"
    detail = (
        f"exit code {code}, and it says\n{said}recorded is\n{recorded}\nrun: python -m checks.lab record (in tools/)"
    )
    return Result(f"{bug.called} fails by the report that the text quotes", code == 1 and said == recorded, detail)


def check_solutions(order: str) -> Result:
    ran = call("env", f"FA_SIMT_ORDER={order}", ROOT / f"build/cpu/bin/test_solution_{bugs.NAME}", timeout=120)
    return Result(f"the solutions pass, threads {order}", ran.returncode == 0, tail(ran.stdout))


def run() -> Iterator[Result]:
    lab = bugs.load(ROOT)
    missing = list(missing_parts(lab))
    yield Result(
        f"the lab is complete, {KERNELS} kernels", not missing and len(lab.bugs) == KERNELS, "\n".join(missing)
    )
    for bug in lab.bugs:
        wrong = wrong_with(bug)
        yield Result(f"{bug.called} is its solution but for one fault", not wrong, wrong)
    built = build("cpu", f"test_solution_{bugs.NAME}", f"exercises_{bugs.NAME}")
    yield built
    if built.ok:
        yield from map(check_solutions, ORDERS)
        yield from map(check_report, lab.bugs)


def record() -> int:
    built = build("cpu", f"exercises_{bugs.NAME}")
    if not built.ok:
        print(built.detail)
        return 1
    REPORTS.mkdir(exist_ok=True)
    for bug in bugs.load(ROOT).bugs:
        code, said = report_of(bug)
        if code != 1:
            print(f"{bug.called}: exit code {code}\n{said}")
            return 1
        report_file(bug).write_text(said, encoding="utf-8")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] != ["record"]:
        sys.exit("usage: python -m checks.lab record")
    sys.exit(record())
