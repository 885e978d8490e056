"""Lesson 02: what online softmax saves, in accesses and in working memory."""

import style
from matplotlib.figure import Figure
from style import COLORS, MARKERS


def accesses(counted: dict, memory: dict) -> Figure:
    safe, online = counted["safe"], counted["online"]
    made, (left, right) = style.figure(
        f"{online['accesses'][-1]} accesses an element instead of {safe['accesses'][-1]}, and no row to keep",
        "Online softmax finds maximum and sum in one pass; with values, it needs one tile of the row at a time",
        "Left: reads and writes through fa::hbm, counted by bench_02. "
        "Right: peak scratch, measured by fa::Scratch (bench_02); one query, D = 1, float, tiles of 64 keys.",
        wide=True,
        right=1.6,
    )

    style.panel_title(left, "HBM accesses, for each element of a row")
    style.log_axis(left.xaxis, style.powers(safe["N"][0], safe["N"][-1], 8), style.kilo_text)
    style.ticks_axis(left.yaxis, [0, 1, 2, 3, 4])
    left.set(xlabel="N, elements of the row", ylim=(0, 4.9), xlim=(safe["N"][0] / 1.4, safe["N"][-1] * 1.4))
    for table, name, algorithm in ((safe, "safe softmax", "standard"), (online, "online softmax", "V2")):
        left.plot(table["N"], table["accesses"], color=COLORS[algorithm], marker=MARKERS[algorithm])
        style.label(
            left,
            table["N"][-1],
            table["accesses"][-1],
            f"{name}:\n{table['accesses'][-1]}",
            COLORS[algorithm],
            fontweight="bold",
        )

    style.panel_title(right, "Working memory for the output of one query")
    whole, tiles = memory["whole row"], memory["tile by tile"]
    style.log_axis(right.xaxis, style.powers(whole["N"][0], whole["N"][-1]))
    style.log_axis(right.yaxis, style.powers(128, 2**15), style.bytes_text)
    right.set(xlabel="N, keys", ylim=(128, 2**14.5), xlim=(whole["N"][0] / 1.2, whole["N"][-1] * 1.2))
    for table, name, algorithm in ((whole, "whole row", "standard"), (tiles, "tile by tile", "V2")):
        right.plot(table["N"], table["scratch_bytes"], color=COLORS[algorithm], marker=MARKERS[algorithm])
        text = f"{name}\n{style.slope_text(table['N'], table['scratch_bytes'])}"
        style.label(right, table["N"][-1], table["scratch_bytes"][-1], text, COLORS[algorithm], fontweight="bold")
    return made


FIGURES = {"02_accesses": (accesses, "02_accesses", "02_memory")}
