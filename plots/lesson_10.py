"""Lesson 10: training steps on a GPU: what they keep in memory, how long they take, and what they move."""

import speed
import style
from cells import moved
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from style import COLORS, MARKERS
from tables_backward import PAPER

KEPT = {"standard": "standard: P, dP, dS", "V1": "V1: m, l, delta"}
PALER = 0.45  # the forward pass, in the color of its algorithm


def memory(data: dict) -> Figure:
    N, kept = data["V1"]["N"], {name: data[name]["scratch_bytes"] for name in KEPT}
    last = {name: style.bytes_text(kept[name][-1]) for name in KEPT}
    made, (axes,) = style.figure(
        "Training too: three numbers for each query",
        f"For one head at N = {N[-1]}: {last['V1']} of m, l and delta, in place of {last['standard']} of P, dP and dS",
        "Peak scratch of forward plus backward pass, measured by fa::DeviceScratch (bench_10); one head, D = 64, float.\n"
        "standard: lesson 05, then a backward pass with P stored. V1: lesson 06, then lesson 10.",
    )
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1]))
    style.log_axis(axes.yaxis, style.powers(2**8, 2**24, 4), style.bytes_text)
    style.y_title(axes, "bytes")
    axes.set(xlabel="N, queries and keys", ylim=(2**8.5, 2**24.5), xlim=(N[0] / 1.15, N[-1] * 1.15))
    for name, text in KEPT.items():
        axes.plot(N, kept[name], color=COLORS[name], marker=MARKERS[name])
        text = f"{text}\n{style.slope_text(N, kept[name])}"
        style.label(axes, N[-1], kept[name][-1], text, COLORS[name], fontweight="bold")
    return made


def bars(axes: Axes, title: str, rows: list[tuple[str, str, list[float], str, bool]]) -> None:
    """A bar for each row: its name, its color, the parts of the bar, the text behind it, and whether it is ours."""
    style.panel_title(axes, title)
    for at, (name, look, parts, text, ours) in enumerate(rows):
        left = 0.0
        for part, value in enumerate(parts):
            alpha = PALER if part + 1 < len(parts) else 1.0
            fill = (
                {"color": COLORS[look], "alpha": alpha} if ours else {"facecolor": "white", "edgecolor": COLORS[look]}
            )
            axes.barh(-at, value, left=left, height=0.62, linewidth=1.6, **fill)
            left += value
        style.label(axes, left, -at, text, COLORS[look], (6, 0), fontweight="bold")
        style.label(axes, 0, -at, name, style.INK, (-6, 0), ha="right", fontsize=9.5)
    axes.set(yticks=[], xlim=(0, max(sum(parts) for _, _, parts, _, _ in rows) * 1.02))
    axes.grid(False, axis="y")
    axes.spines["left"].set_visible(False)


def times(record: dict) -> Figure:
    steps = {name: record[name] for name in KEPT}
    shape, used = record["shape"], steps["V1"]
    ratio = steps["V1"]["milliseconds"] / steps["standard"]["milliseconds"]
    fewer = moved(steps["standard"]) / moved(steps["V1"])
    made, (left, right) = style.figure(
        f"V1 asks for {style.times_text(fewer)} times fewer bytes and {speed.compared(ratio)} the standard step",
        f"A training step at the paper's shape: N = {shape['N']}, D = {shape['D']}, {shape['H']} heads, batch {shape['B']}",
        f"Filled: fp32, no mask, no dropout; forward pass (pale) and backward pass; V1 with Br = {used['Br']}, Bc = {used['Bc']}. Medians of CUDA-event times (bench_10).\n"
        "Bytes: what the kernels ask for, equal by formula and by the GPU's counters (ncu), and what comes through the DRAM chips.\n"
        f"L2 is not flushed: it has {style.bytes_text(record['l2_bytes'])}, the operands {style.bytes_text(record['operand_bytes'])}. {speed.source(record)}.\n"
        "Hollow: the paper's table (arXiv:2205.14135, Figure 2), an A100, half precision.",
        wide=True,
        right=0.75,
    )
    for axes in (left, right):
        box = axes.get_position()
        axes.set_position((box.x0 + 0.05, box.y0, box.width - 0.05, box.height))  # room for the names of the bars
    milliseconds = [
        (name, name, [one["forward_ms"], one["backward_ms"]], f"{style.three_digits(one['milliseconds'])} ms", True)
        for name, one in steps.items()
    ]
    milliseconds += [
        (f"{name},\nthe paper's", name, [PAPER[name]["milliseconds"]], f"{PAPER[name]['milliseconds']} ms", False)
        for name in steps
    ]
    bars(left, "Time, ms", milliseconds)
    gigabytes = []
    for name, one in steps.items():
        for what, value in (("asked for", moved(one)), ("DRAM", moved(one["hardware"], "dram_"))):
            gigabytes.append((f"{name},\n{what}", name, [value / 1e9], f"{style.three_digits(value / 1e9)} GB", True))
    gigabytes += [
        (f"{name},\nthe paper's", name, [PAPER[name]["gigabytes"]], f"{PAPER[name]['gigabytes']} GB", False)
        for name in steps
    ]
    bars(right, "Bytes through HBM, GB", gigabytes)
    return made


FIGURES = {"10_memory": (memory, "10_memory"), "10_speed": (times, "h200_backward")}
