"""The validation of each lesson's contract, under libFuzzer and the sanitizers for a bounded time: what is acceptable is
accepted and written whole, the rest is rejected as documented, and then nothing is written.

Needs clang++ with libFuzzer; .ci/run installs it.
"""

import random
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checks.common import JOBS, ROOT, Lesson, Result, build, call, lessons, tail

RUNS = 2000
LEAST_RUNS = 500  # on a machine so slow that the time ends first
SECONDS = 8  # after the first inputs
TIME_LIMIT = 120  # seconds, with them
SEEDS = 1500
LENGTH = 128  # bytes of an input: enough for all arguments of each contract


def judge(name: str, output: str, code: int) -> Result:
    done = re.search(r"^Done (\d+) runs", output, re.MULTILINE)
    runs = int(done[1]) if done else 0
    ok = code == 0 and runs >= LEAST_RUNS
    broken = "\n".join(
        re.findall(r"^(?:CONTRACT BROKEN|.*runtime error|.*ERROR: \w+Sanitizer).*", output, re.MULTILINE)
    )
    return Result(name, ok, broken or f"exit code {code}, {runs} runs, must be {LEAST_RUNS}\n{tail(output)}")


def write_seeds(folder: Path) -> None:
    """Inputs to begin with. libFuzzer's own are short, and arguments for which no bytes are left would all be the least."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    draw = random.Random(1)
    for number in range(SEEDS):
        (folder / f"{number:04}").write_bytes(draw.randbytes(LENGTH))


def fuzz(lesson: Lesson) -> Result:
    folder = ROOT / "build/fuzz"
    seeds = folder / f"seeds_{lesson.number}"
    write_seeds(seeds)
    found = folder / f"found_{lesson.number}_"  # an input that breaks it is kept under this name
    flags = [
        f"-runs={RUNS}",
        f"-max_total_time={SECONDS}",
        "-seed=1",
        f"-max_len={LENGTH}",
        f"-artifact_prefix={found}",
    ]
    program = folder / f"bin/fuzz_{lesson.number}"
    # One fuzzer a core: more threads would only wait for each other.
    ran = call("env", "FA_SIMT_WORKERS=1", program, *flags, seeds, timeout=TIME_LIMIT)
    return judge(f"{lesson.number} keeps its contract for any arguments", ran.stdout, ran.returncode)


def run() -> Iterator[Result]:
    if not shutil.which("clang++"):
        yield Result("clang++ is there", False, "apt-get install clang, with the libclang-rt package of its version")
        return
    built = build("fuzz", "fuzzers")
    yield built
    if built.ok:
        with ThreadPoolExecutor(JOBS) as pool:
            yield from pool.map(fuzz, lessons())
