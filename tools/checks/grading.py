"""`./course grade` gives the points that were earned: also to submissions that want others, or that do harm."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from checks import hostile
from checks.common import ROOT, Lesson, Result, lessons

LIMIT = "10"  # seconds for the tests of a step, which take two on a quiet machine
CASES = "100"  # random ones of each program: what is tested here is not the lessons
MEMORY = "1024"  # MB
QUICK, CUDA = "02", "05"
TWO = ("ada", "ben")  # the solution, and one with a mistake in step 6


def grade(*arguments) -> tuple[int, dict, str]:
    command = [ROOT / "course", "grade", *arguments, "--random-cases", CASES, "--json", "--plain"]
    ran = subprocess.run([str(one) for one in command], cwd=ROOT, capture_output=True, text=True, timeout=600)
    return ran.returncode, json.loads(ran.stdout) if ran.stdout else {}, ran.stdout + ran.stderr


def lesson_of(number: str) -> tuple[Lesson, str, str]:
    lesson = next(one for one in lessons() if one.number == number)
    return lesson, lesson.exercise.read_text(encoding="utf-8"), lesson.solution.read_text(encoding="utf-8")


def write(folder: Path) -> None:
    """A class."""
    lesson, stub, solution = lesson_of(QUICK)
    hostile.write(folder, stub, solution, lesson.solution)
    for name, text in zip(TWO, (solution, solution.replace("state.m + std::log", "std::log")), strict=True):
        (folder / name).mkdir()
        (folder / name / hostile.FILE).write_text(text)
    lesson, _, solution = lesson_of(CUDA)
    for name, text in {"bugs": hostile.with_bugs(solution), "no_cuda": f"{solution}int x = y;\n"}.items():
        (folder / name / lesson.name).mkdir(parents=True)
        (folder / name / lesson.name / lesson.data["file"]).write_text(text)


def of(report: dict, number: str) -> dict[str, dict]:
    """What each student got for a lesson."""
    graded = ((student["name"], one) for student in report.get("students", []) for one in student["lessons"])
    return {name: one for name, one in graded if one["lesson"].startswith(number)}


def hostile_ones(report: dict) -> Iterator[Result]:
    got = of(report, QUICK)
    wanted = {one.name: (one.word, one.points) for one in hostile.SUBMISSIONS}
    wanted |= {name: (word, 0) for name, word in hostile.FOLDER_SUBMISSIONS.items()}
    yield Result("each submission has a grade", set(got) == {*wanted, *TWO, "bugs", "no_cuda"}, f"{sorted(got)}")
    for name, expected in wanted.items():
        one = got.get(name, {})
        found = (one.get("verdict"), one.get("points"))
        yield Result(f"hostile: {name}", found == expected, f"{found}, expected {expected}\n{one}")
    secret = Path(hostile.QUOTED).read_text(encoding="utf-8").partition(":")[0]
    shown = [one["reason"] for name, one in got.items() if name.startswith("quotes_")]
    yield Result("no file is quoted", len(shown) == 2 and secret not in "".join(shown), "\n".join(shown))
    last = got["a_loop"]["steps"][-1]
    told = (last["passed"], last["not_run"], f"ended after {LIMIT} s" in last["stop"])
    yield Result("what a loop kept from running is told", told == (1, last["tests"] - 2, True), f"{last}")
    left = survivors()
    yield Result("no program of a submission survives", not left, "\n".join(left))


def survivors() -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            program = str((process / "exe").readlink())
        except OSError:
            continue  # it has ended, or is not ours
        if "/course-grade-" in program:
            found.append(f"{process.name} {program}")
    return found


def the_same_again(folder: Path, report: dict) -> Iterator[Result]:
    """Two of the class, alone, and with another seed."""
    students = [folder / name for name in TWO]
    again, other = (grade(*students, "--lesson", QUICK, "--seed", seed)[1] for seed in ("a", "b"))
    graded = [of(one, QUICK) for one in (report, again, other)]
    points = [[one[name]["points"] for name in TWO] for one in graded]
    yield Result("points by step, whatever the seed", points == [[100, 83.33]] * 3, f"{points}")
    first, second = (json.dumps([one[name] for name in TWO]) for one in graded[:2])
    yield Result("the same seed, the same report, whoever else is in the class", first == second, first + second)
    seeds = {one[name]["input_seed"] for one in graded[1:] for name in TWO}
    yield Result("a seed for each student, from the text", len(seeds) == 4, f"{seeds}")


def in_cuda(report: dict) -> Iterator[Result]:
    """Each step of a lesson on the emulator has its own fate."""
    lesson, _, solution = lesson_of(CUDA)
    got = of(report, CUDA)
    steps = got["bugs"]["steps"]
    states = [step["state"] for step in steps]
    yield Result("a CUDA lesson: points by step", states == ["wrong", "right", *["wrong"] * 4], f"{steps}")
    loop, _, wrong, leaves, _, last = steps
    expected = (4, 1, f"the program was ended after {LIMIT} s", "row of q and a row of k")
    found = (loop["passed"], loop["not_run"], loop["message"], loop["failed_test"][-len(expected[3]) :])
    yield Result("a kernel that does not end", found == expected, f"{loop}")
    yield Result("a wrong number", "p[" in wrong["message"] and wrong["not_run"] == 0, f"{wrong}")
    yield Result("an exit in a kernel", leaves["passed"] == 0 and "ended by itself" in leaves["stop"], f"{leaves}")
    yield Result("what comes before an exit counts", (last["passed"], last["not_run"]) == (1, 2), f"{last}")
    reason = f"{lesson.data['file']}:{solution.count(chr(10)) + 1}:9: "
    one = got["no_cuda"]
    found = (one["verdict"], one["reason"][: len(reason)])
    yield Result("what does not compile", found == ("does not compile", reason), f"{one}")


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        write(folder)
        wanted = ("--lesson", QUICK, "--lesson", CUDA)
        code, report, output = grade(folder, *wanted, "--seed", "a", "--limit", LIMIT, "--memory", MEMORY)
        yield Result("the class is graded", code == 0, f"exit code {code}\n{output}")
        yield from hostile_ones(report)
        yield from in_cuda(report)
        yield from the_same_again(folder, report)
