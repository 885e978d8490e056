"""`./course bench` and `./course plot`: programs of the course, run with the student's terminal."""

import json
import re
import subprocess
import sys
from pathlib import Path

from . import bench_table, compiler, gpu, process, random_settings, report, screen
from .build import Build
from .catch_xml import NOT_STARTED
from .errors import NOT_RIGHT, RIGHT, InternalError
from .lessons import Lesson

# What Google Benchmark says of the machine, and rows of its table.
_AROUND = re.compile(
    r"\S+ +[\d.e+]+ [num]?s |\d{4}-\d\d-|Run(ning| on) |CPU Caches:|  L\d |Load Average|\*\*\*WARNING|-+$|Benchmark  |$"
)
# Flags of Google Benchmark that ask for another output than the table.
_OTHER_OUTPUT = ("--benchmark_format", "--benchmark_out", "--benchmark_list_tests", "--help")


def bench(lesson: Lesson, exercise: bool, arguments: list[str], on_gpu: bool = False, raw: bool = False) -> int:
    random_settings.verify()
    build = gpu.build_to_run(lesson, "bench") if on_gpu else Build(lesson.root)
    program = build_program(build, "bench", lesson, exercise)
    if program is None:
        return NOT_RIGHT
    raw = raw or any(one.startswith(_OTHER_OUTPUT) for one in arguments)
    code = (_raw if raw else _table)(program, arguments, lesson.root)
    if lesson.in_cuda() and not on_gpu:
        screen.note("times are the emulator's; they say nothing about a GPU.")
    if exercise and code != 0:
        screen.note(f"exit code {code}. Is your file right? ./course check {lesson.number}")
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


def _table(program: Path, arguments: list[str], root: Path) -> int:
    logs = root / ".course" / "logs"
    results = logs / f"{program.name}.json"
    results.unlink(missing_ok=True)
    command = [str(program), *arguments, f"--benchmark_out={results}", "--benchmark_out_format=json"]
    with screen.progress("measuring") as update:
        listing = [str(program), *arguments, "--benchmark_list_tests"]
        names = set(process.stream(listing, root, logs / "bench.log")[1].split())
        done = set()

        def on_line(line: str) -> None:
            name = line.split(" ")[0]
            done.update({name, name.rpartition("_")[0]} & names)  # f/N:8, and of repetitions f/N:8_median
            if done:
                update(len(done), len(names))

        code, output = process.stream(command, root, logs / "bench.log", on_line)
    try:
        runs = json.loads(results.read_text(encoding="utf-8"))["benchmarks"]
    except (OSError, ValueError, KeyError):
        runs = []
    if runs:
        bench_table.show(runs)
        screen.note(f"as JSON: {results.relative_to(root)}")
        screen.note("as Google Benchmark prints it: --raw")
    unwritten = re.search(rf"{NOT_STARTED} .*", output)
    if unwritten and not runs:
        screen.say(unwritten[0])
        return _as_shell(code) or NOT_RIGHT
    if code != 0 or not runs:
        for line in [line for line in output.splitlines() if not _AROUND.match(line)][-5:]:
            screen.code(line)
    if not arguments:
        screen.note("to run a part of it, add: -- --benchmark_filter=REGEX")
    return _as_shell(code) or (RIGHT if runs else NOT_RIGHT)


def _raw(program: Path, arguments: list[str], root: Path) -> int:
    # Its warning is not filtered out: through a pipe, what it says at the start could come after the first results.
    screen.note("a warning of a DEBUG library is about this system's package only.")
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
    return _as_shell(subprocess.run(command, cwd=root).returncode)


def _as_shell(code: int) -> int:
    return code if code >= 0 else 128 - code
