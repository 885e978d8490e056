"""Lesson 04: bytes through HBM, counted and by formula; memory; the roofline. And the README's headline."""

import headline
import roofline
import style
from data import PlotError
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from style import COLORS, MARKERS

ALGORITHMS = ("standard", "V1", "V2")
SHAPE = "one head, D = 64, float; tiles for 227 KiB of SRAM"
KEPT = {"standard": "S and P", "V1": "m and l", "V2": "lse"}


def memory(data: dict) -> Figure:
    N, kept = data["standard"]["N"], {name: data[name]["scratch_bytes"] for name in ALGORITHMS}
    last = {name: style.bytes_text(sizes[-1]) for name, sizes in kept.items()}
    made, (axes,) = style.figure(
        "What grows with N is a number or two for each query",
        f"At N = {N[-1]}: {last['V1']} of m and l in V1, {last['V2']} of lse in V2, {last['standard']} of S and P",
        f"Peak scratch, measured by fa::Scratch (bench_04); {SHAPE}.",
    )
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1]))
    style.log_axis(axes.yaxis, style.powers(2**8, 2**28, 16), style.bytes_text)
    style.y_title(axes, "bytes")
    axes.set(xlabel="N, queries and keys", ylim=(2**8, 2**28.5), xlim=(N[0] / 1.15, N[-1] * 1.15))
    shift = {"standard": 0, "V1": 4, "V2": -14}
    for name in ALGORITHMS:
        axes.plot(N, kept[name], color=COLORS[name], marker=MARKERS[name])
        text = f"{name}: {KEPT[name]}\n{style.slope_text(N, kept[name])}"
        style.label(axes, N[-1], kept[name][-1], text, COLORS[name], (9, shift[name]), fontweight="bold")
    sram = [max(pair) for pair in zip(data["V1"]["sram_bytes"], data["V2"]["sram_bytes"], strict=True)]
    axes.plot(N, sram, color=COLORS["SRAM"], linestyle="--")
    style.label(
        axes, N[-1], sram[-1], f"tiles in SRAM\n{style.slope_text(N, sram)}", COLORS["SRAM"], (9, 8), fontweight="bold"
    )
    return made


def check_counts(data: dict, argument: str) -> None:
    """The figures say that counts lie on the formulas; this makes sure."""
    formula = data["formula"]
    for name, counted in data["counted"].items():
        for value, moved in zip(counted[argument], counted["hbm_bytes"], strict=True):
            expected = formula[name][formula[argument].index(value)]
            if moved != expected:
                raise PlotError(
                    f"{name} at {argument} = {value}: counted {moved} bytes, but the formula says {expected}"
                )


def line_and_points(axes: Axes, data: dict, name: str, argument: str, shift: float = 0) -> None:
    line, counted = data["formula"][name], data["counted"][name]
    axes.plot(data["formula"][argument], line, color=COLORS[name], linewidth=1.7)
    axes.plot(counted[argument], counted["hbm_bytes"], color=COLORS[name], marker=MARKERS[name], linestyle="none")
    text = f"{name}: {style.bytes_text(line[-1])}"
    style.label(axes, data["formula"][argument][-1], line[-1], text, COLORS[name], (14, shift), fontweight="bold")


def traffic_n(data: dict) -> Figure:
    check_counts(data, "N")
    formula, N = data["formula"], data["formula"]["N"]
    fewer = {name: style.times_text(formula["standard"][-1] / formula[name][-1]) for name in ("V1", "V2")}
    made, (axes,) = style.figure(
        f"{fewer['V1']} (V1) and {fewer['V2']} (V2) times fewer bytes, yet still N²",
        f"The factors are those at N = {N[-1]}. Points are counted by running, lines are formulas: equal to the byte",
        f"Bytes through fa::hbm (bench_04) and formulas (demo_traffic); {SHAPE}.\n"
        "Standard attention is idealized: each of its kernels touches each operand once.\n" + style.wide_heads(data),
    )
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1]))
    style.log_axis(axes.yaxis, style.powers(2**17, 2**29, 4), style.bytes_text)
    style.y_title(axes, "bytes through HBM")
    axes.set(xlabel="N, queries and keys", ylim=(2**16.5, 2**29), xlim=(N[0] / 1.15, N[-1] * 1.15))
    for name, shift in (("standard", 0), ("V1", 6), ("V2", -6)):
        line_and_points(axes, data, name, "N", shift)
    least = formula["least possible"]
    axes.plot(N, least, color=COLORS["least possible"], linewidth=1.4, linestyle="--", zorder=1)
    style.label(
        axes, N[-1], least[-1], f"least possible:\n{style.bytes_text(least[-1])}", COLORS["least possible"], (14, 0)
    )
    style.slope_guide(axes, (420, 2**25), 900, 2, "∝ N²", (-32, 6))
    return made


def traffic_sram(data: dict) -> Figure:
    check_counts(data, "sram")
    formula, sram = data["formula"], data["formula"]["sram"]
    standard, least = formula["standard"][0], formula["least possible"][0]
    below = next(size for size, moved in zip(sram, formula["V1"], strict=True) if moved < standard)
    made, (axes,) = style.figure(
        "Twice the SRAM, about half the bytes",
        f"From {style.bytes_text(below)} of SRAM on, V1 moves fewer bytes than idealized standard attention",
        "Points: bytes through fa::hbm, counted (bench_04). Lines: formulas (demo_traffic); they have steps since tiles are whole.\n"
        "One head, N = 1024, D = 64, float. Standard attention is idealized: each kernel touches each operand once,\n"
        "however small the SRAM.",
    )
    style.log_axis(axes.xaxis, style.powers(sram[0], sram[-1]), style.bytes_text)
    style.log_axis(axes.yaxis, style.powers(2**20, 2**27, 4), style.bytes_text)
    style.y_title(axes, "bytes through HBM")
    axes.set(xlabel="SRAM", xlim=(sram[0] / 1.12, sram[-1] * 1.12), ylim=(2**19.4, 2**27.2))
    for name, moved, dashes in (("standard", standard, "-"), ("least possible", least, "--")):
        axes.axhline(moved, color=COLORS[name], linewidth=1.6, linestyle=dashes)
        style.label(
            axes, sram[-1], moved, f"{name}:\n{style.bytes_text(moved)}", COLORS[name], (14, 0), fontweight="bold"
        )
    for name in ("V1", "V2"):
        line_and_points(axes, data, name, "sram")
    style.slope_guide(axes, (2**15.6, 2**25.6), 2**16.7, -1, "∝ 1 / SRAM", (4, 9))
    return made


FIGURES = {
    "04_memory": (memory, "04_memory"),
    "04_traffic_n": (traffic_n, "04_traffic_n"),
    "04_traffic_sram": (traffic_sram, "04_traffic_sram"),
    "04_roofline": (roofline.draw, "04_roofline", "roofs"),
    "headline": (headline.draw, "04_traffic_n", "04_memory"),
}
