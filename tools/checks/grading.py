"""`./course grade` gives the points that were earned: also to submissions that want others, or that do harm."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from checks import hostile
from checks.common import ROOT, Lesson, Result, lessons

LIMIT = "20"  # seconds for the tests of a step, which take one on a quiet machine
MEMORY = "1024"  # MB
CUDA = "05"


def grade(*arguments) -> tuple[int, dict, str]:
    command = [ROOT / "course", "grade", *arguments, "--json", "--plain"]
    ran = subprocess.run([str(one) for one in command], cwd=ROOT, capture_output=True, text=True, timeout=600)
    return ran.returncode, json.loads(ran.stdout) if ran.stdout else {}, ran.stdout + ran.stderr


def lesson_of(number: str) -> tuple[Lesson, str, str]:
    lesson = next(one for one in lessons() if one.number == number)
    return lesson, lesson.exercise.read_text(encoding="utf-8"), lesson.solution.read_text(encoding="utf-8")


def hostile_ones(folder: Path) -> Iterator[Result]:
    lesson, stub, solution = lesson_of("02")
    hostile.write(folder, stub, solution, lesson.solution)
    code, report, output = grade(folder, "--lesson", "02", "--limit", LIMIT, "--memory", MEMORY)
    yield Result("hostile submissions are graded", code == 0, f"exit code {code}\n{output}")
    got = {student["name"]: student["lessons"][0] for student in report.get("students", [])}
    wanted = {one.name: (one.word, one.points) for one in hostile.SUBMISSIONS}
    wanted |= {name: (word, 0) for name, word in hostile.FOLDER_SUBMISSIONS.items()}
    yield Result("each submission has a grade", set(got) == set(wanted), f"{sorted(got)}")
    for name, expected in wanted.items():
        one = got.get(name, {})
        found = (one.get("verdict"), one.get("points"))
        yield Result(f"hostile: {name}", found == expected, f"{found}, expected {expected}\n{one}")
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


def the_same_again(folder: Path) -> Iterator[Result]:
    """A class of two: one right, one with a mistake in step 6."""
    _, _, solution = lesson_of("02")
    for name, text in (("ada", solution), ("ben", solution.replace("state.m + std::log", "std::log"))):
        (folder / name).mkdir(parents=True)
        (folder / name / hostile.FILE).write_text(text)
    runs = [grade(folder, "--lesson", "2", "--seed", seed) for seed in ("a", "a", "b")]
    yield Result("grading is done", all(code == 0 for code, _, _ in runs), runs[0][2])
    points = [[student["points"] for student in report["students"]] for _, report, _ in runs]
    yield Result("points by step, whatever the seed", points == [[100, 83.33]] * 3, f"{points}")
    first, again, other = (json.dumps(report) for _, report, _ in runs)
    yield Result("the same seed, the same report", first == again, first + again)
    seeds = {student["lessons"][0]["input_seed"] for _, report, _ in runs[1:] for student in report["students"]}
    yield Result("a seed for each student, from the text", len(seeds) == 4, other)


def in_cuda(folder: Path) -> Iterator[Result]:
    lesson, stub, _ = lesson_of(CUDA)
    student = folder / "eve" / lesson.data["file"]
    student.parent.mkdir(parents=True)
    ends = stub.replace('fa::todo("Step 1', 'std::_Exit(0);\n  fa::todo("Step 1', 1)
    student.write_text("#include <cstdlib>\n" + ends)
    code, report, output = grade(folder / "eve", "--lesson", CUDA)
    yield Result("a CUDA lesson is graded", code == 0, f"exit code {code}\n{output}")
    steps = [step["state"] for student in report.get("students", []) for step in student["lessons"][0]["steps"]]
    # Step 2 runs the kernel of step 1, too.
    expected = ["wrong", "wrong", *["not started"] * (len(lesson.data["step"]) - 2)]
    yield Result("an exit in a kernel is wrong there, and stops no other step", steps == expected, f"{steps}\n{output}")


def run() -> Iterator[Result]:
    for part in (hostile_ones, the_same_again, in_cuda):
        with tempfile.TemporaryDirectory() as folder:
            yield from part(Path(folder).resolve())
