"""The validation of each lesson's contract, under libFuzzer and the sanitizers for a bounded time: what is acceptable is
accepted and written whole, the rest is rejected as documented, and then nothing is written.

Needs clang++ with libFuzzer; .ci/run installs it.
"""

import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from checks.common import JOBS, ROOT, Lesson, Result, build, call, lessons, tail

RUNS = 2000
LEAST_RUNS = 500  # on a machine so slow that the time ends first
SECONDS = 8


def judge(name: str, output: str, code: int) -> Result:
    done = re.search(r"^Done (\d+) runs", output, re.MULTILINE)
    runs = int(done[1]) if done else 0
    ok = code == 0 and runs >= LEAST_RUNS
    broken = "\n".join(
        re.findall(r"^(?:CONTRACT BROKEN|.*runtime error|.*ERROR: \w+Sanitizer).*", output, re.MULTILINE)
    )
    return Result(name, ok, broken or f"exit code {code}, {runs} runs, must be {LEAST_RUNS}\n{tail(output)}")


def fuzz(lesson: Lesson) -> Result:
    found = ROOT / "build/fuzz" / f"found_{lesson.number}_"  # an input that breaks it is kept under this name
    flags = [f"-runs={RUNS}", f"-max_total_time={SECONDS}", "-seed=1", "-max_len=128", f"-artifact_prefix={found}"]
    ran = call(ROOT / f"build/fuzz/bin/fuzz_{lesson.number}", *flags, timeout=10 * SECONDS)
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
