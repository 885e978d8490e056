"""The README's test command, with warnings as errors in the course's own code."""

import re
from collections.abc import Iterator

from checks.common import ROOT, Result, call, tail


def run() -> Iterator[Result]:
    configured = call("cmake", "--preset", "ci")
    if configured.returncode != 0:
        yield Result("preset ci configures", False, tail(configured.stdout))
        return
    ran = call(ROOT / "course", "test")
    summary = re.findall(r"(\d+) passed, (\d+) failed", ran.stdout)
    if not summary:
        yield Result("./course test", False, tail(ran.stdout))
        return
    passed, failed = map(int, summary[-1])
    yield Result("./course test", ran.returncode == 0 and passed > 0, tail(ran.stdout), count=max(passed, 1))
    if failed:
        yield Result("tests that failed", False, tail(ran.stdout, 80), count=failed)
