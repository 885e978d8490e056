"""The README's test command, with warnings as errors in the course's own code."""

import re
from collections.abc import Iterator

from checks.common import ROOT, Result, call, configure, tail


def run() -> Iterator[Result]:
    configured = configure("ci")
    if not configured.ok:
        yield configured
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
