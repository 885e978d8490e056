"""Lesson 07: V1 on tensor cores: its working memory, how long it takes on a GPU, and the steps by which it got fast."""

import speed
import style
from cells import time
from data import FOLDER, PlotError
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from style import COLORS, MARKERS

D = 64  # of bench_07 on the emulator
HALF = 2  # bytes of an element

# In 07_speed: the name in the record, then color and marker, and whether the line is dashed and its points hollow.
LINES = {
    "PyTorch": ("standard", False),
    "cuBLAS": ("cuBLAS", False),
    "wmma": ("V1", True),
    "mma": ("V1", False),
}
LABELS = {"PyTorch": "PyTorch", "cuBLAS": "cuBLAS", "wmma": "V1, wmma", "mma": "V1, mma"}


def memory(data: dict) -> Figure:
    N, kept = data["V1"]["N"], {name: data[name]["scratch_bytes"] for name in ("standard", "V1")}
    operands = [4 * n * D * HALF for n in N]  # q, k, v and out
    last = {name: style.bytes_text(values[-1]) for name, values in kept.items()}
    made, (axes,) = style.figure(
        "Rounded operands, a state in float, and still no N × N matrix",
        f"For one head at N = {N[-1]}: {last['V1']} of partial, m and l, in place of {last['standard']} of S and P",
        f"Peak scratch, measured by fa::DeviceScratch (bench_07); one head, D = {D}. V1: both kernels of lesson 07, in fp16.\n"
        "standard: lesson 05, in float; in half precision S and P would take half of that. The dashed line: the operands in fp16.",
    )
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1]))
    style.log_axis(axes.yaxis, style.powers(2**12, 2**24, 4), style.bytes_text)
    style.y_title(axes, "bytes")
    axes.set(xlabel="N, queries and keys", ylim=(2**12.5, 2**24.5), xlim=(N[0] / 1.15, N[-1] * 1.15))
    axes.plot(N, operands, color=style.INK, linewidth=1.4, linestyle="--")
    style.label(axes, N[-1], operands[-1] * 1.5, f"q, k, v, out\n{style.slope_text(N, operands)}", style.INK)
    for name, text, shift in (("standard", "standard: S and P", 1), ("V1", "V1: partial, m, l", 0.75)):
        axes.plot(N, kept[name], color=COLORS[name], marker=MARKERS[name])
        text = f"{text}\n{style.slope_text(N, kept[name])}"
        style.label(axes, N[-1], kept[name][-1] * shift, text, COLORS[name], fontweight="bold")
    return made


def cached(record: dict) -> str:
    """Of the lengths at D = 64, those whose operands may stay in L2."""
    table = record["forward"]["fp16"]["D = 64"]["mma"]
    small = [N for N, size in zip(table["N"], table["operand_bytes"], strict=True) if size <= record["l2_bytes"]]
    return f"could hold the operands up to N = {max(small)} at D = 64" if small else "is smaller than the operands"


def rates(record: dict, width: str) -> dict[str, dict[int, float]]:
    """TFLOP/s by name and N, fp16, no mask. Of PyTorch there are times alone; the FLOP are those of the others."""
    tables = record["forward"]["fp16"][width]
    flops = {}
    found: dict[str, dict[int, float]] = {"PyTorch": {}}
    for name, table in tables.items():
        found[name] = {N: rate for N, rate in zip(table["N"], table["tflops"], strict=True) if rate is not None}
        flops |= {N: count for N, count in zip(table["N"], table["flops"], strict=True) if count is not None}
    pytorch = record["pytorch"][width]
    for N, milliseconds in zip(pytorch["N"], pytorch["milliseconds"], strict=True):
        if milliseconds is not None:
            found["PyTorch"][N] = flops[N] / milliseconds / 1e9
    return {name: {N: rate for N, rate in found[name].items() if N in pytorch["N"]} for name in LINES}


def times(record: dict) -> Figure:
    widths = {width: rates(record, f"D = {width}") for width in (64, 128)}
    ratio = {N: widths[64]["mma"][N] / widths[64]["PyTorch"][N] for N in (1024, 4096)}
    peak = record["peak_tflops"]["fp16"]
    lengths = record["pytorch"]["D = 64"]["N"]
    missing = [f"N = {N}, D = {width}" for width, lines in widths.items() for N in lengths if N not in lines["PyTorch"]]
    in_cache = cached(record)
    made, (left, right) = style.figure(
        f"V1 on tensor cores: {style.times_text(ratio[1024])} to {style.times_text(ratio[4096])} times as fast as standard attention in PyTorch",
        "The factors are those at N = 1024 and 4096, D = 64. PyTorch and cuBLAS: standard attention, S and P in HBM",
        "Forward pass, fp16, no mask, random inputs, 8 batches of 16 heads. Medians of CUDA-event times (bench_07, time_pytorch.py). PyTorch: explicit, product, scale,\n"
        "softmax, product. cuBLAS: scale in the product, and one kernel for the softmax, in the place of S. FLOP: 4 N² D a head. "
        + (f"\nPyTorch is out of memory at {' and '.join(missing)}. " if missing else "\n")
        + f"L2, {style.bytes_text(record['l2_bytes'])}, is not flushed; it {in_cache}.\n{speed.source(record)}, PyTorch {record['pytorch']['pytorch']}.",
        wide=True,
        right=1.05,
    )
    low = min(rate for lines in widths.values() for line in lines.values() for rate in line.values())
    for axes, (width, lines) in zip((left, right), widths.items(), strict=True):
        style.panel_title(axes, f"D = {width}: TFLOP/s")
        for name, points in lines.items():
            look, hollow = LINES[name]
            axes.plot(
                *zip(*sorted(points.items()), strict=True),
                color=COLORS[look],
                marker=MARKERS[look],
                linestyle=(0, (4, 2)) if hollow else "-",
                markerfacecolor="white" if hollow else COLORS[look],
            )
        axes.axhline(peak, color=style.GRAY, linewidth=1.2, linestyle=(0, (2, 3)))
        text = f"cuBLAS's product of two 8192² matrices: {peak:.0f}"
        style.label(axes, lengths[0], peak, text, style.GRAY, (0, 8), fontsize=9)
        ends = speed.spread({name: points[max(points)] for name, points in lines.items()}, (peak / low) ** 0.085)
        for name, height in ends.items():
            style.label(axes, lengths[-1], height, LABELS[name], COLORS[LINES[name][0]], (11, 0), fontweight="bold")
        style.log_axis(axes.xaxis, lengths)
        style.log_axis(axes.yaxis, style.powers(low / 2, peak * 1.5))
        axes.set(xlabel="N, queries and keys", xlim=(lengths[0] / 1.2, lengths[-1] * 1.2), ylim=(low / 1.4, peak * 1.6))
    return made


def bars(axes: Axes, values: list[float], texts: list[str], colors: list[str]) -> None:
    places = range(len(values))
    axes.barh(places, values, color=colors, height=0.62)
    for place, value, text in zip(places, values, texts, strict=True):
        style.label(axes, value, place, text, style.INK, (5, 0), fontsize=10)
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    axes.set(ylim=(len(values) - 0.45, -0.55), xlim=(0, max(values)), xticks=[], yticks=[])


def ladder(record: dict) -> Figure:
    rungs = record["ladder"]
    moved = [rung["read_bytes"] + rung["written_bytes"] for rung in rungs]
    taken = [rung["milliseconds"] for rung in rungs]
    if taken[-1] >= taken[0] or moved[-1] >= moved[0]:
        raise PlotError("the ladder does not lead down")
    made, (left, right) = style.figure(
        f"Step by step: {style.times_text(taken[0] / taken[-1])} times as fast, with {style.times_text(moved[0] / moved[-1])} times fewer bytes",
        "The same algorithm all the way. Only more keys in a tile change what goes through HBM",
        "V1 in fp16, N = 4096, D = 64, no mask, 8 batches of 16 heads. Each rung has all that stands above it. Time: medians of CUDA-event times (bench_07 and\n"
        f"bench_rung_07_*). Bytes: what is asked of HBM, by formula. {speed.source(record)}.",
        wide=True,
        height=5.4,
    )
    left.set_position((0.36, 0.2, 0.26, 0.58))
    right.set_position((0.71, 0.2, 0.2, 0.58))
    colors = ["#9CC3DE"] * (len(rungs) - 2) + [COLORS["V1"]] * 2  # the solution's kernel, and the given one
    style.panel_title(left, "Time")
    style.panel_title(right, "Bytes through HBM")
    bars(left, taken, [time(value) for value in taken], colors)
    bars(right, moved, [f"{value / 1e9:.2f} GB" for value in moved], colors)
    for place, rung in enumerate(rungs):
        where = f"{rung['title']}\n"
        tiles = f"Br = {rung['Br']}, Bc = {rung['Bc']}"
        style.label(left, 0, place, where, style.INK, (-10, 2), ha="right", fontsize=10.5)
        style.label(left, 0, place, f"\n{tiles}", style.GRAY, (-10, -2), ha="right", fontsize=9)
    return made


FIGURES = {"07_memory": (memory, "07_memory")}
if (FOLDER / "h200_tensor_cores.json").exists():  # written by record_tensor_cores.py, on a GPU
    FIGURES |= {"07_speed": (times, "h200_tensor_cores"), "07_ladder": (ladder, "h200_tensor_cores")}
