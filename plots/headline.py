"""The README's figure: bytes through HBM and working memory against N, on plain axes."""

import math

import style
from data import PlotError
from matplotlib.figure import Figure
from style import COLORS, MARKERS

ALGORITHMS = ("standard", "V1", "V2")

# How high the labels stand above their points, which lie close together; in points, a column for each panel.
HEIGHTS = {"standard": (0, 0), "V1": (18, 42), "V2": (-8, 12)}


def draw(traffic: dict, memory: dict) -> Figure:
    formula, N = traffic["formula"], traffic["formula"]["N"]
    fewer = style.times_text(formula["standard"][-1] / formula["V2"][-1])
    made, (left, right) = style.figure(
        f"Exact attention, {fewer} times fewer bytes, and no N × N matrix in memory",
        "Forward pass of one head, D = 64, float: standard attention, FlashAttention (V1), FlashAttention-2 (V2)",
        "Points are counted by running, lines are formulas; they rise by a step where one more tile is needed. Tiles for 227 KiB of SRAM.\n"
        "Standard attention is idealized: each of its kernels touches each operand once. In half precision more keys fit in a tile (lesson 04).\n"
        + style.wide_heads(traffic),
        wide=True,
        right=1.25,
    )
    panels = (
        (left, "Bytes through HBM", traffic, "hbm_bytes", "fewer"),
        (
            right,
            "Memory beyond q, k, v and out",
            {"counted": memory, "formula": memory["formula"]},
            "scratch_bytes",
            "less",
        ),
    )
    for panel, (axes, title, data, column, comparative) in enumerate(panels):
        style.panel_title(axes, title)
        style.ticks_axis(axes.xaxis, [1024, 2048, 4096])
        axes.set(xlabel="N, queries and keys", xlim=(0, N[-1]))
        axes.spines["left"].set_visible(False)
        formula, standard = data["formula"], data["formula"]["standard"][-1]
        for name in ALGORITHMS:
            counted, last = data["counted"][name], formula[name][-1]
            by_formula = [formula[name][formula["N"].index(N)] for N in counted["N"]]
            if counted[column] != by_formula:
                raise PlotError(f"{title}, {name}: counted {counted[column]}, by formula {by_formula}")
            axes.plot(formula["N"], formula[name], color=COLORS[name], linewidth=2.4, clip_on=False)
            axes.plot(
                counted["N"], counted[column], color=COLORS[name], marker=MARKERS[name], linestyle="none", clip_on=False
            )
            text = f"{name}\n{style.bytes_text(last)}"
            if name != "standard":
                text = f"{name}: {style.bytes_text(last)}\n{style.times_text(standard / last)}× {comparative}"
            style.label(axes, N[-1], last, text, COLORS[name], (11, HEIGHTS[name][panel]), fontweight="bold")
        quarter = 2 ** math.ceil(math.log2(standard / 4.5))
        style.ticks_axis(axes.yaxis, [quarter * at for at in range(5)], style.bytes_text)
        axes.set_ylim(0, quarter * 4.2)
    return made
