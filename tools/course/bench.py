"""`./course bench` and `./course plot`: programs of the course, run with the student's terminal."""

import subprocess
import sys
from pathlib import Path

from . import compiler, gpu, report, screen
from .build import Build
from .errors import NOT_RIGHT, InternalError
from .lessons import Lesson


def bench(lesson: Lesson, exercise: bool, arguments: list[str], on_gpu: bool = False) -> int:
    build = gpu.build_to_run(lesson, "bench") if on_gpu else Build(lesson.root)
    program = build_program(build, "bench", lesson, exercise)
    if program is None:
        return NOT_RIGHT
    code = _measure(program, arguments, lesson.root)
    if exercise and code != 0:
        screen.note(f"it ended with exit code {code}. Is your file right? ./course check {lesson.number}")
    return code


def build_program(build: Build, kind: str, lesson: Lesson, exercise: bool) -> Path | None:
    """The path of bench_NN or the like; None if the exercise does not compile, which it then has said."""
    if not exercise:
        return build.program(f"{kind}_{lesson.number}")
    lesson.read_exercise()  # if it is missing, that is said here, and not as a failure of the build
    target = f"{kind}_exercise_{lesson.number}"
    with build.locked():
        built = build.target(target)
    if built.ok:
        return build.binary(target)
    error = compiler.diagnose(built.output, lesson.root, lesson.exercise)
    if error is None:
        build.fail(target, built)
    report.does_not_compile(lesson, error)
    return None


def _measure(program: Path, arguments: list[str], root: Path) -> int:
    # Its warning is not filtered out: through a pipe, what it says at the start could come after the first results.
    screen.note(
        "if Google Benchmark warns of a DEBUG library: that is about this system's package, not about your code."
    )
    if not arguments:
        screen.note("to run a part of it, add: -- --benchmark_filter=REGEX")
    return run([str(program), *arguments], root)


def plot(lesson: Lesson | None, root: Path) -> int:
    script = root / "plots" / "make.py"
    if not script.exists():
        raise InternalError("plots/make.py does not exist.")
    chosen = ["--lesson", lesson.number] if lesson else []
    return run([sys.executable, str(script), *chosen, "--build", str(root / "build" / "cpu")], root)


def run(command: list[str], root: Path) -> int:
    """The program's exit code, as a shell gives it."""
    sys.stdout.flush()
    code = subprocess.run(command, cwd=root).returncode
    return code if code >= 0 else 128 - code
