"""The recorded counts behind the figures are what the programs count now."""

import sys
from collections.abc import Iterator

from checks.common import Result, build, call, lessons, tail


def run() -> Iterator[Result]:
    built = build("cpu", *(f"bench_{lesson.number}" for lesson in lessons()), "demo_traffic")
    yield built
    if built.ok:
        ran = call(sys.executable, "plots/make.py", "--check", "--build", "build/cpu")
        yield Result("plots/data", ran.returncode == 0, tail(ran.stdout))
