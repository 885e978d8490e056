"""Lesson 03: what tiled attention does to the working memory, and to the time on a CPU."""

import style
from matplotlib.figure import Figure
from style import COLORS, MARKERS


def last(sizes: list[int]) -> str:
    return style.bytes_text(sizes[-1])


def memory(data: dict) -> Figure:
    standard, tiled = data["standard"], data["tiled"]
    N = standard["N"]
    made, (axes,) = style.figure(
        "Tiles turn N² into N",
        f"At N = {N[-1]}: {last(standard['scratch_bytes'])} of S and P, or {last(tiled['scratch_bytes'])} of lse "
        f"and {last(tiled['sram_bytes'])} of tiles",
        "Peak scratch, measured by fa::Scratch (bench_03); one head, D = 64, float; Br = Bc = 64.",
    )
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1]))
    style.log_axis(axes.yaxis, style.powers(2**8, 2**28, 16), style.bytes_text)
    style.y_title(axes, "bytes")
    axes.set(xlabel="N, queries and keys", ylim=(2**8, 2**28.5), xlim=(N[0] / 1.15, N[-1] * 1.15))
    lines = (
        (standard["scratch_bytes"], "01: S and P", "standard", "-", 0),
        (tiled["sram_bytes"], "03: tiles in SRAM", "SRAM", "--", 8),
        (tiled["scratch_bytes"], "03: lse", "V2", "-", -6),
    )
    for values, name, color, dashes, shift in lines:
        axes.plot(N, values, color=COLORS[color], marker=MARKERS[color], linestyle=dashes)
        style.label(
            axes,
            N[-1],
            values[-1],
            f"{name}\n{style.slope_text(N, values)}",
            COLORS[color],
            (9, shift),
            fontweight="bold",
        )
    return made


def speed(data: dict) -> Figure:
    ratio = data["ratio"]
    N, median = ratio["N"], ratio["median"]
    made, (axes,) = style.figure(
        f"Lesson 03 is about {median[-1]:.0f} times as fast as lesson 01 at N = {N[-1]}",
        "A ratio of times within one run on a CPU. It differs from machine to machine, and from run to run",
        "CPU time of lesson 01 over that of lesson 03 (bench_03); one head, D = 64, float; one thread.\n"
        f"Medians of {data['repetitions']} repetitions, bars from the least to the most. "
        f"{data['compiler']}, a machine of {data['cores']} cores.",
        right=0.3,
    )
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1]))
    style.y_title(axes, "time of lesson 01 / time of lesson 03")
    axes.set(xlabel="N, queries and keys", xlim=(N[0] / 1.15, N[-1] * 1.15), ylim=(0, max(ratio["most"]) * 1.15))
    below = [middle - least for middle, least in zip(median, ratio["least"], strict=True)]
    above = [most - middle for middle, most in zip(median, ratio["most"], strict=True)]
    axes.errorbar(N, median, yerr=[below, above], color=COLORS["V2"], marker=MARKERS["V2"], capsize=4, elinewidth=1.4)
    axes.axhline(1, color=COLORS["standard"], linewidth=1.4, linestyle="--")
    style.label(axes, N[0], 1, "as fast as lesson 01", COLORS["standard"], (0, -11))
    return made


FIGURES = {"03_memory": (memory, "03_memory"), "03_speed": (speed, "03_speed")}
