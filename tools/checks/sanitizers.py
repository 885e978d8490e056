"""The same tests, compiled with the address and undefined-behavior sanitizers."""

import re
from collections.abc import Iterator

from checks.common import Result, build, call, tail


def run() -> Iterator[Result]:
    built = build("sanitize")
    yield built
    if not built.ok:
        return
    tested = call("ctest", "--preset", "sanitize")
    summary = re.search(r"(\d+) tests failed out of (\d+)", tested.stdout)
    if not summary or tested.returncode != 0:
        yield Result("tests under sanitizers", False, tail(tested.stdout))
        return
    yield Result("tests under sanitizers", True, count=int(summary[2]))
