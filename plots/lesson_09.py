"""Lesson 09: what training keeps in memory, and what the backward pass moves, with P stored and with P recomputed."""

import style
from data import PlotError
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from style import COLORS, MARKERS

GB = 10**9
HEADS, ROW_BYTES = 64 * 16, 8 * 64 * 4  # the training shape of GPT-2 medium; a row of q, k, v, out and their gradients
WAYS = {"stored": "standard", "recomputed": "V1"}  # how P comes into the backward pass, and the color for it


def gigabytes_text(value: float, position: int | None = None) -> str:
    """Decimal, as the memory of a GPU is sold. The second argument is for matplotlib."""
    return f"{value / GB / 1000:g} TB" if value >= 1000 * GB else f"{value / GB:g} GB"


def check_training(data: dict) -> None:
    """The right panel shows all heads and their operands by formula; this makes sure that the measured heads lie on it."""
    for way in WAYS:
        formula = dict(zip(data["training"]["N"], data["training"][f"{way}_bytes"], strict=True))
        for N, scratch in zip(data[way]["N"], data[way]["scratch_bytes"], strict=True):
            if HEADS * (scratch + N * ROW_BYTES) != formula[N]:
                raise PlotError(f"{way} at N = {N}: measured {scratch} bytes a head, but the formula says {formula[N]}")


def kept(axes: Axes, data: dict) -> None:
    N = data["stored"]["N"]
    style.panel_title(axes, "One head: beyond operands and gradients")
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1]))
    style.log_axis(axes.yaxis, style.powers(2**8, 2**28, 16), style.bytes_text)
    axes.set(xlabel="N, queries and keys", ylim=(2**8, 2**29), xlim=(N[0] / 1.2, N[-1] * 1.2))
    for way, text, shift in (("stored", "P, dP, dS, delta", -12), ("recomputed", "m and l", -6)):
        color, values = WAYS[way], data[way]["scratch_bytes"]
        axes.plot(N, values, color=COLORS[color], marker=MARKERS[color])
        text = f"{text}\n{style.bytes_text(values[-1])}\n{style.slope_text(N, values)}"
        style.label(axes, N[-1], values[-1], text, COLORS[color], (9, shift), fontweight="bold")
    sram = data["recomputed"]["sram_bytes"]
    axes.plot(N, sram, color=COLORS["SRAM"], linestyle="--")
    text = f"tiles in SRAM\n{style.slope_text(N, sram)}"
    style.label(axes, N[-1], sram[-1], text, COLORS["SRAM"], (9, 6), fontweight="bold")


def training(axes: Axes, data: dict) -> None:
    N, longest = data["training"]["N"], data["longest"]
    style.panel_title(axes, "One layer of GPT-2 medium, batch 64: all of it")
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1], 8))
    style.log_axis(axes.yaxis, [GB // 10, GB, 10 * GB, 100 * GB, 1000 * GB], gigabytes_text)
    axes.set(xlabel="N, queries and keys", ylim=(GB / 10, 1000 * GB), xlim=(N[0] / 1.2, N[-1] * 1.2))
    for size in longest["GB"]:
        axes.axhline(size * GB, color=style.GRAY, linewidth=1, linestyle=(0, (2, 3)))
        shift = {80: -4, 141: 4}.get(size, 0)
        style.label(axes, N[-1] * 1.2, size * GB, f"{size} GB", style.GRAY, (4, shift), fontsize=9.5)
    for way, color in WAYS.items():
        axes.plot(N, data["training"][f"{way}_bytes"], color=COLORS[color], linewidth=1.7)
        heads = [HEADS * (s + n * ROW_BYTES) for n, s in zip(data[way]["N"], data[way]["scratch_bytes"], strict=True)]
        axes.plot(data[way]["N"], heads, color=COLORS[color], marker=MARKERS[color], linestyle="none")
        for size, most in zip(longest["GB"], longest[f"{way}_N"], strict=True):
            axes.plot(most, size * GB, color=COLORS[color], marker="o", markerfacecolor="white", markeredgewidth=1.8)
            style.label(
                axes, most, size * GB, f"{most}", COLORS[color], (-7, 7), ha="right", fontsize=9.5, fontweight="bold"
            )
    style.label(axes, 140, 50 * GB, "P stored", COLORS["standard"], fontweight="bold")
    style.label(axes, 6000, 4 * GB, "P recomputed", COLORS["V1"], fontweight="bold")


def memory(data: dict) -> Figure:
    check_training(data)
    longest = data["longest"]
    at = longest["GB"].index(80)
    made, (left, right) = style.figure(
        f"80 GB hold N = {longest['stored_N'][at]} with P stored, N = {longest['recomputed_N'][at]} with P recomputed",
        "Memory for training, forward plus backward pass, float: lessons 01 and 08 store P; lessons 04 and 09 recompute it from m and l",
        "Left: peaks of fa::Scratch (bench_09), D = 64, tiles for 227 KiB of SRAM. Right: 64 batches of 16 heads, D = 64: q, k, v, out, their gradients and what the\n"
        "left panel shows. Full points: the measured head, times 1024. Lines: the formula. Rings: the longest sequence for 16, 80 and 141 GB (10⁹ bytes), by formula.",
        wide=True,
        right=1.3,
    )
    kept(left, data)
    training(right, data)
    return made


def traffic(data: dict) -> Figure:
    counted, formula = data["counted"], data["formula"]
    for name in counted:
        if counted[name]["hbm_bytes"] != formula[name]["formula_bytes"]:
            raise PlotError(
                f"{name}: counted {counted[name]['hbm_bytes']}, by formula {formula[name]['formula_bytes']}"
            )
    N = counted["V1"]["N"]
    last = {name: counted[name]["hbm_bytes"][-1] for name in counted}
    wide = {name: data["formula at D = 128"][f"{name}_bytes"][0] for name in ("standard", "v1")}
    made, (axes,) = style.figure(
        f"The backward pass: {style.times_text(last['standard'] / last['V1'])} times fewer bytes, yet still N²",
        f"The factor is that at N = {N[-1]}. Points are counted, lines join what the formulas say: equal to the byte",
        "Bytes through fa::hbm and formulas (bench_09); one head, D = 64, float; V1's tiles for 227 KiB of SRAM.\n"
        "The standard backward pass is idealized: each of its five kernels touches each operand once.\n"
        f"In float at D = 128, N = {N[-1]}, V1 moves {wide['v1'] / wide['standard']:.2f} times the bytes of the standard pass.",
    )
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1]))
    style.log_axis(axes.yaxis, style.powers(2**17, 2**29, 4), style.bytes_text)
    style.y_title(axes, "bytes through HBM")
    axes.set(xlabel="N, queries and keys", ylim=(2**17, 2**29.5), xlim=(N[0] / 1.15, N[-1] * 1.15))
    for name, shift in (("standard", 6), ("V1", -6)):
        axes.plot(N, formula[name]["formula_bytes"], color=COLORS[name], linewidth=1.7)
        axes.plot(N, counted[name]["hbm_bytes"], color=COLORS[name], marker=MARKERS[name], linestyle="none")
        text = f"{name}: {style.bytes_text(last[name])}"
        style.label(axes, N[-1], last[name], text, COLORS[name], (14, shift), fontweight="bold")
    style.slope_guide(axes, (420, 2**26), 900, 2, "∝ N²", (-32, 6))
    return made


FIGURES = {"09_memory": (memory, "09_memory"), "09_traffic": (traffic, "09_traffic")}
