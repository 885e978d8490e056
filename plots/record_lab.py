"""Runs the kernels of find_the_bug on a GPU, with their faults in, and writes data/h200_lab.json: how often their tests failed, and what
each tool of compute-sanitizer reported.

    cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=native && cmake --build --preset cuda --target exercises_find_the_bug
    python plots/record_lab.py --commit "$(git rev-parse --short HEAD)" [--build build/cuda] [--out FILE]

Needs the standard library, nvidia-smi and compute-sanitizer, and takes one to two minutes. A kernel in exercises/find_the_bug that is
not as the course gives it is an error: nothing is written.
"""

import re
import subprocess
import sys
from pathlib import Path

import record_gpu
import script
from data import PlotError
from tables_lab import TOOLS

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import cuda_tools  # noqa: E402
from course import bugs  # noqa: E402
from course.bugs import Bug  # noqa: E402

RUNS = 20  # of the tests of a kernel: what a race does is a matter of chance
TIME_LIMIT = 120  # seconds
ENDED = re.compile(r"^(?:All tests passed|test cases: +\d+ \|)", re.MULTILINE)
FOUND = re.compile(r"^=+ (?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", re.MULTILINE)
MEASURED = (
    "test_exercise_bugNN, each kernel with its fault: in how many of `runs` runs its two tests did not both pass, and how many errors or "
    "hazards each tool of compute-sanitizer reported in one run"
)


def call(command: list, what: str) -> tuple[int, str]:
    """Exit code and output. A kernel that does not end is an error of the lab, whose faults all let it end."""
    try:
        ran = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT
        )
    except OSError as error:
        raise PlotError(f"{what}: cannot run {command[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise PlotError(f"{what}: did not end in {TIME_LIMIT} s") from error
    return ran.returncode, ran.stdout + ran.stderr


def reported(output: str, what: str) -> int:
    """The number in the summary of compute-sanitizer."""
    found = FOUND.findall(output)
    if len(found) != 1:
        raise PlotError(f"{what}: no summary of compute-sanitizer:\n" + "\n".join(output.splitlines()[-5:]))
    return int(found[0][0] or found[0][1])


def wrong_runs(command: list, what: str) -> int:
    wrong = 0
    for _ in range(RUNS):
        code, output = call(command, what)
        if not ENDED.search(output):
            raise PlotError(f"{what}: the tests did not run to their end (exit code {code}):\n{output[-500:]}")
        wrong += code != 0
    return wrong


def measure(bug: Bug, build: Path) -> dict[str, int]:
    if (ROOT / bug.exercise).read_bytes() != bug.known_stub():
        raise PlotError(f"{bug.exercise} is not as the course gives it: ./course bug {bug.place} --reset")
    program = build / "bin" / f"test_exercise_{bug.number}"
    if not program.is_file():
        raise PlotError(f"{program} is missing. Build it: cmake --build {build} --target exercises_{bugs.NAME}")
    command = [program, f"[{bug.number}]"]
    print(f"running: kernel {bug.place}", flush=True)
    row = {"wrong_runs": wrong_runs(command, f"kernel {bug.place}")}
    sanitizer = cuda_tools.find("compute-sanitizer") or "compute-sanitizer"
    for tool in TOOLS:
        what = f"kernel {bug.place}, {tool}"
        # Calls that fail are no finding of a tool: some tests make them fail on purpose, and the course checks each.
        _, output = call([sanitizer, "--tool", tool, "--report-api-errors", "no", *command], what)
        row[tool] = reported(output, what)
    return row


def record(build: Path) -> dict:
    lab = bugs.load()
    if lab is None:
        raise PlotError(f"there is no {bugs.CATALOG}")
    return {"measured": MEASURED, "runs": RUNS, "kernels": {bug.place: measure(bug, build) for bug in lab.bugs}}


def main() -> None:
    given = script.recorder("Runs the kernels of find_the_bug on a GPU.", "h200_lab.json").parse_args()
    name, driver = record_gpu.gpu()
    sanitizer = cuda_tools.version("compute-sanitizer")
    machine = {"gpu": name, "driver": driver, "cuda": record_gpu.nvcc(given.build), "compute_sanitizer": sanitizer}
    script.save(given.out, {**machine, "commit": given.commit, **record(given.build)})


if __name__ == "__main__":
    script.run(main)
