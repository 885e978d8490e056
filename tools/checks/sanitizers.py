"""The same tests, compiled with the address and undefined-behavior sanitizers."""

import re
from collections.abc import Iterator

from checks.common import Result, build, call, lessons, tail

OTHERS = ("test_reference", "test_simt", "test_device", "test_solution_find_the_bug")

# Left out for their time: they compare counts and errors of kernels that other tests run here, too.
NUMBERS = (
    "/formula = count, to the byte|/the bytes that a GPU's counters showed|/the error is at most twice that of standard"
)


def run() -> Iterator[Result]:
    # What is missing here, CTest reports as not built.
    given = [f"test_given_{lesson.number}" for lesson in lessons() if (lesson.folder / "test_given.cpp").exists()]
    built = build("sanitize", *OTHERS, *(f"test_solution_{lesson.number}" for lesson in lessons()), *given)
    yield built
    if not built.ok:
        return
    tested = call("ctest", "--preset", "sanitize", "--exclude-regex", NUMBERS)
    summary = re.search(r"(\d+) tests failed out of (\d+)", tested.stdout)
    if not summary or tested.returncode != 0:
        yield Result("tests under sanitizers", False, tail(tested.stdout))
        return
    yield Result("tests under sanitizers", True, count=int(summary[2]))
