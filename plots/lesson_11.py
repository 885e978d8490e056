"""Lesson 11: V2 beside V1 and standard attention: memory, bytes, blocks on a chip, and how long it takes on a GPU."""

import math

import museum
import speed
import style
import tile_walk
from data import FOLDER, PlotError
from matplotlib.figure import Figure
from style import COLORS, MARKERS

KEPT = {"standard": "standard: S and P", "V1": "V1: m and l", "V2": "V2: lse"}
TILE = 64  # queries of a block of V2
CHIPS = {"T4": 40, "A100": 108, "H100, H200": 132}  # multiprocessors


def memory(data: dict) -> Figure:
    N, kept = data["V2"]["N"], {name: data[name]["scratch_bytes"] for name in KEPT}
    last = {name: style.bytes_text(kept[name][-1]) for name in KEPT}
    made, (axes,) = style.figure(
        "V2 keeps one number for each query",
        f"For one head at N = {N[-1]}: {last['V2']} of lse, in place of {last['V1']} of m and l, or {last['standard']} of S and P",
        "Peak scratch, measured by fa::DeviceScratch (bench_11); one head, D = 64, float.",
    )
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1]))
    style.log_axis(axes.yaxis, style.powers(2**8, 2**24, 4), style.bytes_text)
    style.y_title(axes, "bytes")
    axes.set(xlabel="N, queries and keys", ylim=(2**7, 2**24.5), xlim=(N[0] / 1.15, N[-1] * 1.15))
    ends = speed.spread({name: kept[name][-1] for name in KEPT}, 5)
    for name, text in KEPT.items():
        axes.plot(N, kept[name], color=COLORS[name], marker=MARKERS[name])
        text = f"{text}\n{style.slope_text(N, kept[name])}"
        style.label(axes, N[-1], ends[name], text, COLORS[name], fontweight="bold")
    return made


def traffic(data: dict) -> Figure:
    counted, formula = data["counted"], data["formula"]
    total = {}
    for name, table in counted.items():
        total[name] = [r + w for r, w in zip(table["read_bytes"], table["written_bytes"], strict=True)]
        if total[name] != formula[name]["hbm_bytes"]:
            raise PlotError(f"{name}: counted {total[name]}, by formula {formula[name]['hbm_bytes']}")
    N = counted["V2"]["N"]
    written = {name: style.bytes_text(counted[name]["written_bytes"][-1]) for name in counted}
    made, (left, right) = style.figure(
        "V2 writes its result once, and nothing else",
        f"One head at N = {N[-1]}: {written['V2']} written, in place of {written['V1']} by V1 and {written['standard']} by three kernels",
        "Lines: formulas. Points: bytes through fa::hbm, counted by the emulator (bench_11). D = 64, float. standard: lesson 05.\n"
        "V1: lesson 06 with Br = Bc = 64. V2: Br = 64, Bc = 32.",
        wide=True,
        right=1.15,
    )
    for axes, heading, columns in (
        (left, "All bytes through HBM", total),
        (right, "Bytes written", {name: table["written_bytes"] for name, table in counted.items()}),
    ):
        style.panel_title(axes, heading)
        ends = speed.spread({name: values[-1] for name, values in columns.items()}, 5)
        for name, values in columns.items():
            axes.plot(N, values, color=COLORS[name], marker=MARKERS[name])
            text = f"{name}:\n{style.bytes_text(values[-1])}"
            style.label(axes, N[-1], ends[name], text, COLORS[name], (11, 0), fontweight="bold")
        style.log_axis(axes.xaxis, N)
        style.log_axis(axes.yaxis, style.powers(2**14, 2**28, 4), style.bytes_text)
        axes.set(xlabel="N, queries and keys", xlim=(N[0] / 1.2, N[-1] * 1.2), ylim=(2**13.5, 2**28.5))
    return made


def busy(blocks: float, multiprocessors: float) -> float:
    """The share of multiprocessors at work, on average, in percent, if each block takes equally long and one runs at a time."""
    return 100 * blocks / (math.ceil(blocks / multiprocessors) * multiprocessors)


def waves() -> Figure:
    N, heads = 4096, 16
    shares = {chip: (busy(heads, count), busy(heads * N // TILE, count)) for chip, count in CHIPS.items()}
    made, (left, right) = style.figure(
        "A block for each head leaves most of a GPU idle",
        f"{heads} heads of N = {N} on a GPU with 132 multiprocessors: {shares['H100, H200'][0]:.0f}% at work with V1, {shares['H100, H200'][1]:.0f}% with V2",
        "By formula: n blocks on m multiprocessors take ⌈n / m⌉ waves, and n / (⌈n / m⌉ m) of the multiprocessors work, on average, if each block takes\n"
        f"equally long and a multiprocessor runs one at a time. V1 has a block for each head, V2 one for each {TILE} queries of each head.",
        wide=True,
        right=0.85,
    )
    style.panel_title(left, "132 multiprocessors, N = 1024: percent at work")
    counts = list(range(1, 529))
    for name, per_head in (("V1", 1), ("V2", 1024 // TILE)):
        left.plot(counts, [busy(head * per_head, 132) for head in counts], color=COLORS[name], linewidth=1.6)
    style.label(left, 30, busy(30, 132), "V1", COLORS["V1"], (9, -4), fontweight="bold")
    style.label(left, 3, busy(48, 132), "V2", COLORS["V2"], (-9, 4), ha="right", fontweight="bold")
    style.log_axis(left.xaxis, [1, 4, 16, 66, 132, 264, 528])
    left.set(xlabel="heads in all, B · H", ylim=(0, 105), xlim=(0.9, 600))

    style.panel_title(right, "Any chip: percent at work")
    ratios = [step / 200 for step in range(1, 201)] + [1 + step / 400 for step in range(1, 12001)]
    right.plot(ratios, [busy(ratio, 1.0) for ratio in ratios], color=style.GRAY, linewidth=1.0)
    places = {"T4": ((-8, 4), "right"), "A100": ((8, -5), "left"), "H100, H200": ((3, -14), "left")}
    for chip, count in CHIPS.items():
        for name, blocks in (("V1", heads), ("V2", heads * N // TILE)):
            right.plot(blocks / count, busy(blocks, count), color=COLORS[name], marker=MARKERS[name], linestyle="none")
        offset, side = places[chip]
        style.label(right, heads / count, busy(heads, count), chip, COLORS["V1"], offset, ha=side, fontsize=9.5)
    style.label(right, 1 / 6, 62, f"V1, {heads} heads\nof any N", COLORS["V1"], (0, 0), ha="center", fontweight="bold")
    style.label(right, 12, 66, f"V2, {heads} heads\nof N = {N}", COLORS["V2"], (0, 0), ha="center", fontweight="bold")
    style.log_axis(
        right.xaxis, [1 / 16, 1 / 4, 1, 4, 16], lambda value, _: f"{value:g}" if value >= 1 else f"1/{1 / value:.0f}"
    )
    right.set(xlabel="blocks for each multiprocessor", ylim=(0, 105), xlim=(0.03, 32))
    return made


def one_wave(rows: dict, multiprocessors: int) -> str:
    """What V1 takes for as many heads as multiprocessors, in words, beside 1 head."""
    ratio = rows[1024, multiprocessors][1] / rows[1024, 1][1]
    if ratio < 1.1:
        return f"takes as long for 1 head as for {multiprocessors}"
    return f"takes {style.times_text(ratio)} times as long for {multiprocessors} heads as for 1"


def heads(record: dict) -> Figure:
    tables = record["heads"]
    rows = {
        name: {
            (N, count): (blocks, milliseconds)
            for N, count, blocks, milliseconds in zip(
                table["N"], table["heads"], table["blocks"], table["milliseconds"], strict=True
            )
        }
        for name, table in tables.items()
    }
    few = {name: row[4096, 16][1] for name, row in rows.items()}
    counts = sorted(count for N, count in rows["V1"] if N == 1024)
    made, (left, right) = style.figure(
        f"V1 {one_wave(rows['V1'], record['multiprocessors'])}: why V2 had to appear",
        f"With 16 heads of N = 4096, V2 is {style.times_text(few['V1'] / few['V2'])} times as fast as V1",
        "Forward pass, fp32, no mask, random inputs, N = 1024, D = 64. Medians of CUDA-event times (bench_11). V1 with the tiles that are fastest at N = 4096.\n"
        f"Dotted: as many heads as multiprocessors, {record['multiprocessors']}, and multiples. V1 has a block for each head, V2 one for each {TILE} queries of each head.\n"
        f"{speed.source(record)}.",
        wide=True,
        right=0.85,
    )
    times = {name: [rows[name][1024, count][1] for count in counts] for name in rows}
    each = {name: [1e3 * time / count for count, time in zip(counts, times[name], strict=True)] for name in rows}
    for axes, heading, columns in ((left, "Time, ms", times), (right, "Time for each head, µs", each)):
        style.panel_title(axes, heading)
        for name, values in columns.items():
            axes.plot(counts, values, color=COLORS[name], marker=MARKERS[name])
            style.label(axes, counts[-1], values[-1], name, COLORS[name], (11, 0), fontweight="bold")
        for number in (1, 2, 4):
            axes.axvline(number * record["multiprocessors"], color=style.GRAY, linewidth=1, linestyle=(0, (1, 3)))
        style.log_axis(axes.xaxis, [1, 4, 16, 66, 132, 264, 528])
        low, high = (choose(choose(values) for values in columns.values()) for choose in (min, max))
        step = 4 if high / low > 2**7 else 2
        exponents = range(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1, int(math.log2(step)))
        style.log_axis(axes.yaxis, [2.0**exponent for exponent in exponents])
        axes.set(xlabel="heads in all, B · H", xlim=(0.9, 600), ylim=(low / 1.5, high * 1.5))
    return made


def times(record: dict) -> Figure:
    ratio = {name: speed.ratio_of_times(record, name, "lesson 11", 4096, 64) for name in ("lesson 06", "lesson 05")}
    return speed.draw(
        record,
        ("lesson 05", "lesson 06", "lesson 11", "cuBLAS"),
        f"V2 {speed.compared(1 / ratio['lesson 06'])} V1, and {speed.compared(1 / ratio['lesson 05'])} lesson 05",
        "The factors are those at N = 4096, D = 64. None of these kernels uses tensor cores",
        "bench_11",
    )


FIGURES = {
    "11_memory": (memory, "11_memory"),
    "11_traffic": (traffic, "11_traffic"),
    "11_waves": (waves,),
    "museum": (museum.draw,),
    "tile_walk": (tile_walk.draw,),
}
if (FOLDER / "h200_v2.json").exists():  # written by record_v2.py, on a GPU
    FIGURES |= {"11_heads": (heads, "h200_v2"), "11_speed": (times, "h200_v2")}
