"""The recorded counts behind the figures are what the programs count now, and the figures show the recorded counts."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from checks.common import ROOT, Result, build, call, lessons, tail


def redrawn() -> Iterator[Result]:
    """Drawing is deterministic, so the committed figures must come out again, byte for byte."""
    with tempfile.TemporaryDirectory() as folder:
        ran = call(sys.executable, "plots/make.py", "--out", folder)
        if ran.returncode != 0:
            yield Result("the figures can be drawn", False, tail(ran.stdout))
            return
        drawn = {path.name: path.read_bytes() for path in Path(folder).glob("*.svg")}
    committed = {path.name: path.read_bytes() for path in (ROOT / "plots/figures").glob("*.svg")}
    for name in sorted(drawn | committed):
        same = drawn.get(name) == committed.get(name)
        yield Result(f"plots/figures/{name}", same, "not what plots/make.py draws; run it again")


def run() -> Iterator[Result]:
    built = build("cpu", *(f"bench_{lesson.number}" for lesson in lessons()), "demo_traffic")
    yield built
    if built.ok:
        ran = call(sys.executable, "plots/make.py", "--check", "--build", "build/cpu")
        yield Result("plots/data", ran.returncode == 0, tail(ran.stdout))
    yield from redrawn()
