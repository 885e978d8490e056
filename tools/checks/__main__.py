"""Runs the checks one after another and closes with a line `N passed, N failed`.

Each check is a module with a function `run()` that yields a Result for each thing it looked at. A check that yields nothing, or
that stops with an exception, counts as failed: nothing passes by not being looked at.
"""

import importlib
import os
import signal
import sys
import time
import traceback
from pathlib import Path

from checks.common import Result

CHECKS = {
    "tests": "the README's test command passes",
    "lessons": "each lesson is complete, and the texts' links lead somewhere",
    "equal": "exercises equal solutions outside TODO regions",
    "snippets": "code in the texts is current",
    "formatting": "C++ and Python are formatted",
    "tools": "the tests of the runner and of these checks pass",
    "stubs": "stubs compile, are reported as not started, and fail",
    "grading": "submissions get the points that they have earned, also hostile ones",
    "mistakes": "each cataloged mistake is caught by the test that is meant to",
    "museum": "the page of the mistakes shows what is recorded of them",
    "lab": "each kernel of find_the_bug fails by the report that the text quotes; its solution passes, in any order of threads",
    "rungs": "each step by which a solution got fast still compiles and is right",
    "profile": "what the emulator counts is what the formula says, also where no tile fits",
    "sanitizers": "the same tests under the address and undefined-behavior sanitizers",
    "fuzzing": "contracts reject what they should, and nothing is written then, under libFuzzer",
    "cuda": "where nvcc is: the CUDA build compiles, and without a GPU its tests are skipped and not passed",
    "speed": "tiled attention is at least 3 times as fast as naive attention, and the emulator keeps its pace",
    "figures": "the recorded counts behind the figures are those that the programs count",
}


def run_check(name: str) -> list[Result]:
    module = importlib.import_module(f"checks.{name}")
    results = []
    try:
        for result in module.run():
            results.append(result)
            if not result.ok:
                print(f"  FAILED  {result.name}", flush=True)
                print("".join(f"          {line}\n" for line in result.detail.splitlines()), end="", flush=True)
    except Exception:
        print(traceback.format_exc(), flush=True)
        results.append(Result(f"{name} ran to its end", False))
    if not results:
        print("  FAILED  nothing was checked", flush=True)
        results.append(Result(f"{name} checked something", False))
    return results


def use_our_programs() -> None:
    """The checks run in the repository's root, and ruff and clang-format are those beside the Python that runs this."""
    python = Path(sys.executable).absolute()
    sys.executable = str(python)
    # Started in the background, it would ignore Ctrl-C, and so would the programs to which tests send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["PATH"] = f"{python.parent}{os.pathsep}{os.environ['PATH']}"


def main(names: list[str]) -> int:
    use_our_programs()
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        print(f"unknown check {unknown[0]}; there are: {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    passed = failed = 0
    for name in names or CHECKS:
        print(f"{name}: {CHECKS[name]}", flush=True)
        start = time.monotonic()
        results = run_check(name)
        good = sum(result.count for result in results if result.ok)
        bad = sum(result.count for result in results if not result.ok)
        print(f"  {good} passed, {bad} failed, {time.monotonic() - start:.0f} s", flush=True)
        passed += good
        failed += bad
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
