"""Lesson 06: V1 on a GPU: its working memory, its bytes by three meters, and how long it takes."""

import speed
import style
import tables
import tile_size
from data import PlotError
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from style import COLORS, MARKERS

KEPT = {"standard": "standard: S and P", "V1": "V1: m and l"}


def memory(data: dict) -> Figure:
    N, kept = data["V1"]["N"], {name: data[name]["scratch_bytes"] for name in KEPT}
    last = {name: style.bytes_text(kept[name][-1]) for name in KEPT}
    made, (axes,) = style.figure(
        "V1 keeps two numbers for each query",
        f"For one head at N = {N[-1]}: {last['V1']} of m and l, in place of {last['standard']} of S and P",
        "Peak scratch, measured by fa::DeviceScratch (bench_06); one head, D = 64, float.",
    )
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1]))
    style.log_axis(axes.yaxis, style.powers(2**8, 2**24, 4), style.bytes_text)
    style.y_title(axes, "bytes")
    axes.set(xlabel="N, queries and keys", ylim=(2**8, 2**24.5), xlim=(N[0] / 1.15, N[-1] * 1.15))
    for name, text in KEPT.items():
        axes.plot(N, kept[name], color=COLORS[name], marker=MARKERS[name])
        text = f"{text}\n{style.slope_text(N, kept[name])}"
        style.label(axes, N[-1], kept[name][-1], text, COLORS[name], fontweight="bold")
    return made


def bytes_of(meter: dict, start: str = "") -> int:
    return meter[f"{start}read_bytes"] + meter[f"{start}written_bytes"]


def asked(axes: Axes, counts: dict, profiles: dict[str, dict]) -> None:
    """What the kernels ask HBM for, for one head: the formula as a line, the emulator's count and the GPU's as points."""
    style.panel_title(axes, "Bytes that one head asks for")
    ends = {}
    for name, profile in profiles.items():
        line = dict(zip(counts["formula"][name]["N"], counts["formula"][name]["hbm_bytes"], strict=True))
        counted = counts["counted"][name]
        if counted["hbm_bytes"] != [line[N] for N in counted["N"]]:
            raise PlotError(f"{name}: counted {counted['hbm_bytes']}, by formula {line}")
        rings = {}
        for row in profile["profiles"]:
            shape = row["shape"]
            if (shape["d"], shape["br"], shape["bc"], shape["causal"]) != (64, 32, 32, False):
                raise PlotError(f"the profile of {name} has the shape {shape}: must be D = 64, Br = Bc = 32, no mask")
            line[shape["n"]] = bytes_of(row["formula"]) / shape["heads"]
            rings[shape["n"]] = bytes_of(row["hardware"]) / shape["heads"]
        axes.plot(*zip(*sorted(line.items()), strict=True), color=COLORS[name], linewidth=1.7)
        axes.plot(counted["N"], counted["hbm_bytes"], color=COLORS[name], marker=MARKERS[name], linestyle="none")
        axes.plot(
            *zip(*rings.items(), strict=True),
            color=COLORS[name],
            marker="o",
            markersize=14,
            markerfacecolor="none",
            markeredgewidth=1.8,
            linestyle="none",
        )
        ends[name] = line[max(line)]
    for name, height in speed.spread(ends, 4).items():
        text = f"{name}:\n{style.bytes_text(ends[name])}"
        style.label(axes, max(line), height, text, COLORS[name], (14, -6), fontweight="bold")
    N, highest = sorted(line), axes.dataLim.y1
    style.log_axis(axes.xaxis, N)
    style.log_axis(axes.yaxis, style.powers(2**17, highest * 2, 4), style.bytes_text)
    axes.set(xlabel="N, queries and keys", xlim=(N[0] / 1.2, N[-1] * 1.3), ylim=(2**16.5, highest * 2))


def in_dram(axes: Axes, profiles: dict[str, dict]) -> None:
    """How much of what is asked for comes from the memory chips, in percent: the caches keep the rest."""
    style.panel_title(axes, "Of these, through the DRAM chips")
    bars = [
        (name, row)
        for at in range(max(len(profile["profiles"]) for profile in profiles.values()))
        for name, profile in profiles.items()
        for row in profile["profiles"][at : at + 1]
    ]
    shares = [100 * bytes_of(row["hardware"], "dram_") / bytes_of(row["hardware"]) for _, row in bars]
    places = [-at - at // len(profiles) * 0.6 for at in range(len(bars))]
    axes.barh(places, shares, color=[COLORS[name] for name, _ in bars], height=0.72)
    for place, share, (name, row) in zip(places, shares, bars, strict=True):
        through, shape = bytes_of(row["hardware"], "dram_"), row["shape"]
        text = f"{style.three_digits(share)}%: {style.bytes_text(through)}"
        inside = {"color": "white", "offset": (-6, 0), "ha": "right"}
        beside = {"color": COLORS[name], "offset": (6, 0)}
        style.label(axes, share, place, text, fontweight="bold", **(inside if share > 60 else beside))
        heads = "1 head" if shape["heads"] == 1 else f"{shape['heads']} heads"
        style.label(axes, 0, place, f"{name}\n{heads}, N = {shape['n']}", style.INK, (-6, 0), ha="right", fontsize=9.5)
    axes.set(xlim=(0, max(100, *shares)), xlabel="percent of the bytes asked for", yticks=[])
    axes.grid(False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.axvline(100, color=style.GRAY, linewidth=1, linestyle=(0, (2, 3)))


def traffic(counts: dict, standard: dict, v1: dict) -> Figure:
    tables.dram_error(v1)  # raises PlotError where DRAM is far from the formula
    made, (left, right) = style.figure(
        "Three meters, one number; what reaches the chips is up to the caches",
        "The formula, the emulator's count and the counters of a GPU agree to the byte",
        "Lines: formulas. Small points: bytes through fa::hbm, counted by the emulator (bench_06). Rings: bytes that the GPU's instructions\n"
        f"asked for, read by ncu {v1['ncu']} (./course profile). D = 64, float, Br = Bc = 32. standard: lesson 05. DRAM: dram__bytes_read and _write.\n"
        f"{speed.source(v1)}.",
        wide=True,
        right=1.15,
    )
    box = right.get_position()
    right.set_position((box.x0 + 0.045, box.y0, box.width - 0.045, box.height))  # room for the names of the bars
    profiles = {"standard": standard, "V1": v1}
    asked(left, counts, profiles)
    in_dram(right, profiles)
    return made


def times(record: dict) -> Figure:
    ratio = speed.ratio_of_times(record, "lesson 06", "lesson 05", 4096, 64)
    blocks = {N: 32 * 16384 // N for N in (4096, 16384)}
    return speed.draw(
        record,
        ("lesson 05", "lesson 06", "cuBLAS"),
        f"{'Fewer bytes, not yet less time: ' if ratio > 1 else ''}V1 {speed.compared(ratio)} lesson 05",
        f"The factor is that at N = 4096, D = 64. V1's grid has a block for each head: {blocks[4096]} there, {blocks[16384]} at N = 16384",
    )


FIGURES = {
    "06_memory": (memory, "06_memory"),
    "06_speed": (times, "h200_forward"),
    "06_tiles": (tile_size.draw, "h200_forward", "roofs"),
    "06_traffic": (traffic, "06_traffic", "h200_profile_05", "h200_profile_06"),
}
