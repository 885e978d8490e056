"""The recorded counts behind the figures are what the programs count now; figures and text show what is recorded."""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from checks.common import ROOT, Result, build, call, lessons, tail

OTHERS = ("demo_traffic", "profile_07", "profile_rung_07_no_padding")  # that count what is recorded


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


def recorded(name: str) -> dict:
    return json.loads((ROOT / f"plots/data/{name}.json").read_text(encoding="utf-8"))


def quoted_roofs() -> Iterator[Result]:
    """Lessons 04, 09 and 11 quote the measured roofs, where they meet, and what they allow."""
    roofs = recorded("roofs")
    peak, copy = (roofs[name]["median"] for name in ("product_flop_per_second", "copy_bytes_per_second"))
    both = (
        f"{peak / 1e12:.0f} TFLOP/s in a large matrix product",
        f"{copy / 1e12:.2f} TB/s in a copy: {peak / copy:.0f} FLOP",
    )
    forward = recorded("04_roofline")["D = 64"]["standard"]
    ceiling = min(peak, forward["flop"] / forward["hbm_bytes"] * copy)
    yield quotes("07_flash_v1_tensor_cores", f"{copy / 1e12:.2f} TB/s in a copy")
    cache = f"L2, {roofs['l2_bytes'] / 2**20:.0f} MiB on an H200"
    yield quotes("04_counting_bytes", *both, cache, f"allows {ceiling / 1e12:.0f} TFLOP/s at most")

    half = {name: column[0] for name, column in recorded("09_traffic")["formula in half precision"].items()}  # D = 64
    by_bytes, by_flop = (
        {name: half[f"{name}_{unit}"] / roof * 1e6 for name in ("standard", "v1")}
        for unit, roof in (("bytes", copy), ("flop", peak))
    )
    yield quotes(
        "09_backward_recompute",
        *both,
        f"6 bytes, in whose time the GPU does {6 * peak / copy:.0f} FLOP",
        f"its bytes take {by_bytes['standard']:.0f} µs, and its FLOP would take {by_flop['standard']:.0f}",
        f"V1's bytes take {by_bytes['v1']:.0f} µs and its FLOP {by_flop['v1']:.0f}",
        f"it is {by_flop['v1'] / 5:.0f} of these {by_flop['v1']:.0f} µs",
    )

    # Lesson 11: a tile of 32 keys brings 2 · 32 · 64 floats to 64 queries, 4 · 64 · 32 · 64 FLOP.
    intensity = 4 * 64 * 32 * 64 / (2 * 32 * 64 * 4)
    yield quotes(
        "11_flash_v2",
        f"{intensity:.0f} FLOP for a byte",
        f"{copy / 1e12:.2f} TB/s, enough for {intensity * copy / 1e12:.0f} TFLOP/s",
    )


def products_set_the_pace() -> Iterator[Result]:
    """Lesson 10: the times of both steps go by their products, and the bytes of the standard one would take far less time."""
    step = recorded("h200_backward")
    standard, v1 = step["standard"], step["V1"]
    for times, products in {"forward_ms": 2 / 2, "backward_ms": 5 / 4, "milliseconds": 7 / 6}.items():
        off = v1[times] / standard[times] / products - 1
        name = f"a training step, {times}: V1 to standard is {products:.2f}, as their products are, to within 3%"
        yield Result(name, abs(off) <= 0.03, f"off by {off:+.1%}")
    copy = recorded("roofs")["copy_bytes_per_second"]["median"]
    share = (standard["read_bytes"] + standard["written_bytes"]) / copy * 1e3 / standard["milliseconds"]
    rounded = {4: "a quarter", 3: "a third"}.get(round(1 / share), f"{share:.0%}")
    yield quotes("10_backward_cuda", f"would take {rounded} of its time", f"at the {copy / 1e12:.2f} TB/s of lesson 04")


def tensor_cores() -> Iterator[Result]:
    """Lesson 07: how fast the given kernel is beside PyTorch, and what the steps of the ladder bought."""
    record = recorded("h200_tensor_cores")
    speedups = []
    for D in ("D = 64", "D = 128"):
        pytorch, mma = record["pytorch"][D], record["forward"]["fp16"][D]["mma"]
        slow, fast = (dict(zip(of["N"], of["milliseconds"], strict=True)) for of in (pytorch, mma))
        ratios = [slow[N] / fast[N] for N in (1024, 2048, 4096)]
        speedups.append(f"{round(min(ratios), 1):g} to {round(max(ratios), 1):g}")
    rungs = {rung["title"]: rung for rung in record["ladder"]}
    unpadded, padded = rungs["asynchronous copies"], rungs["rows padded, so that banks differ"]
    few, many = rungs["mma: S, P and the state in registers"], rungs["the most keys that fit"]
    moved = [rung["read_bytes"] + rung["written_bytes"] for rung in (few, many)]
    counted = {profile["name"]: profile["emulator"] for profile in record["profiles"] if profile["emulator"]}
    plain, mended = counted["wmma, rows not padded"], counted["wmma"]
    kept = plain["stores_conflicts"] - mended["stores_conflicts"]
    N, D, Tc = 4096, 64, 4096 // 256  # the experiment's prediction: the formula of the text, 128 heads
    bytes_256 = (
        4 * N * D + Tc * 2 * N * D + (Tc - 1) * (4 * N * D + 8 * N) + 8 * N * Tc + (Tc - 1) * 4 * N * D + 2 * N * D
    )
    yield quotes(
        "07_flash_v1_tensor_cores",
        f"it is {speedups[0]} times as fast as PyTorch's standard attention at D = 64, and {speedups[1]} times at D = 128",
        f"*Padding* takes {1 - padded['milliseconds'] / unpadded['milliseconds']:.0%} of the time away",
        f"all {plain['loads_conflicts'] - mended['loads_conflicts']:,} conflicts of loads are gone",
        f"{kept:,} of {plain['stores_conflicts']:,} of stores",
        f"{moved[1] / moved[0]:.0%} of the bytes are left",
        f"gives {128 * bytes_256 / 1e9:.2f} GB at Bc = 256",
    )


def quotes(lesson: str, *wanted: str) -> Result:
    text = " ".join((ROOT / f"lessons/{lesson}/README.md").read_text(encoding="utf-8").split())
    missing = [quote for quote in wanted if quote not in text]
    return Result(f"{lesson} quotes what was measured", not missing, "not in the text: " + "; ".join(missing))


def readme_table() -> Result:
    ran = call(sys.executable, "plots/readme_table.py", "--check")
    return Result("the README's table of times is the recorded one", ran.returncode == 0, tail(ran.stdout))


def run() -> Iterator[Result]:
    yield from quoted_roofs()
    yield from products_set_the_pace()
    yield from tensor_cores()
    yield readme_table()
    built = build("cpu", *(f"bench_{lesson.number}" for lesson in lessons()), *OTHERS)
    yield built
    if built.ok:
        ran = call(sys.executable, "plots/make.py", "--check", "--build", "build/cpu")
        yield Result("plots/data", ran.returncode == 0, tail(ran.stdout))
    yield from redrawn()
