"""The recorded counts behind the figures are what the programs count now; figures and text show what is recorded."""

import json
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


def quoted_roofs() -> Result:
    """Lesson 04's text quotes the measured roofs, where they meet, and the ceiling of standard attention at D = 64."""
    data = ROOT / "plots/data"
    roofs = json.loads((data / "roofs.json").read_text(encoding="utf-8"))
    standard = json.loads((data / "04_roofline.json").read_text(encoding="utf-8"))["D = 64"]["standard"]
    peak, copy = (roofs[name]["median"] for name in ("product_flop_per_second", "copy_bytes_per_second"))
    ceiling = min(peak, standard["flop"] / standard["hbm_bytes"] * copy)
    wanted = (
        f"{peak / 1e12:.0f} TFLOP/s in a large matrix product",
        f"{copy / 1e12:.2f} TB/s in a copy: {peak / copy:.0f} FLOP",
        f"allows {ceiling / 1e12:.0f} TFLOP/s at most",
        f"L2, {roofs['l2_bytes'] / 2**20:.0f} MiB on an H200",
    )
    text = " ".join((ROOT / "lessons/04_counting_bytes/README.md").read_text(encoding="utf-8").split())
    missing = [quote for quote in wanted if quote not in text]
    return Result("lesson 04 quotes the measured roofs", not missing, "not in the text: " + "; ".join(missing))


def readme_table() -> Result:
    ran = call(sys.executable, "plots/readme_table.py", "--check")
    return Result("the README's table of times is the recorded one", ran.returncode == 0, tail(ran.stdout))


def run() -> Iterator[Result]:
    yield quoted_roofs()
    yield readme_table()
    built = build("cpu", *(f"bench_{lesson.number}" for lesson in lessons()), "demo_traffic")
    yield built
    if built.ok:
        ran = call(sys.executable, "plots/make.py", "--check", "--build", "build/cpu")
        yield Result("plots/data", ran.returncode == 0, tail(ran.stdout))
    yield from redrawn()
