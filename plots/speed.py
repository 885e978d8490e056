"""Lessons 05, 06 and 11: times against N, as a GPU took them."""

import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from style import COLORS, MARKERS

LOOKS = {
    "lesson 05": "standard",
    "lesson 06": "V1",
    "lesson 11": "V2",
    "cuBLAS": "cuBLAS",
}  # in the record; in style.py
LABELS = {
    "lesson 05": "lesson 05:\nstandard",
    "lesson 06": "lesson 06:\nV1",
    "lesson 11": "lesson 11:\nV2",
    "cuBLAS": "cuBLAS:\nstandard",
}


def ratio_of_times(record: dict, slow: str, fast: str, N: int, D: int) -> float:
    forward = record["forward"][f"D = {D}"]
    at = {name: forward[name]["N"].index(N) for name in (slow, fast)}
    return forward[slow]["milliseconds"][at[slow]] / forward[fast]["milliseconds"][at[fast]]


def compared(ratio: float) -> str:
    """The time of A over that of B, in words about A."""
    if ratio < 1:
        return f"is {style.times_text(1 / ratio)} times as fast as"
    return f"takes {style.times_text(ratio)} times as long as"


def source(record: dict) -> str:
    return f"{record['gpu']}, driver {record['driver']}, CUDA {record['cuda']}, commit {record['commit']}"


def absent(record: dict, names: tuple[str, ...]) -> str:
    """A sentence about what did not fit into the GPU's memory, or nothing."""
    gaps = [
        f"{name} at N = {N}, {width}"
        for width, tables in record["forward"].items()
        for name in names
        for N, time in zip(tables[name]["N"], tables[name]["milliseconds"], strict=True)
        if time is None
    ]
    return f"Out of memory: {'; '.join(gaps)}.\n" if gaps else ""


def line(axes: Axes, table: dict, column: str, name: str, wide: bool) -> tuple[int, float]:
    """Points and a line; those of D = 128 are hollow and dashed. Returns the last point."""
    points = [(N, value) for N, value in zip(table["N"], table[column], strict=True) if value is not None]
    look = LOOKS[name]
    axes.plot(
        *zip(*points, strict=True),
        color=COLORS[look],
        marker=MARKERS[look],
        linestyle=(0, (4, 2)) if wide else "-",
        linewidth=1.5 if wide else 2.2,
        markerfacecolor="white" if wide else COLORS[look],
        markeredgewidth=1.5,
    )
    return points[-1]


def spread(ends: dict[str, float], least_factor: float) -> dict[str, float]:
    """Heights for labels: near their points on a logarithmic axis, yet at least this factor apart."""
    heights: dict[str, float] = {}
    below = 0.0
    for name, end in sorted(ends.items(), key=lambda item: item[1]):
        below = heights[name] = max(end, below * least_factor)
    return heights


def draw(record: dict, names: tuple[str, ...], title: str, subtitle: str, bench: str = "bench_06") -> Figure:
    forward = record["forward"]
    lengths = forward["D = 64"][names[0]]["N"]
    made, (left, right) = style.figure(
        title,
        subtitle,
        "Forward pass, fp32, no mask, random inputs. 16384 tokens and a hidden size of 2048 in all, so longer sequences are fewer ones:\n"
        f"32 · 16384 / N heads at D = 64 (filled, solid) and 16 · 16384 / N at D = 128 (hollow, dashed). Medians of CUDA-event times ({bench}).\n"
        f"{absent(record, names)}L2 is not flushed: it has {style.bytes_text(record['l2_bytes'])}, the operands {style.bytes_text(record['operand_bytes'])}."
        f" {source(record)}.",
        wide=True,
        right=1.05,
    )
    panels = ((left, "Time", "milliseconds", "ms"), (right, "FLOP of the two products per second", "tflops", "TFLOP/s"))
    for axes, heading, column, unit in panels:
        style.panel_title(axes, f"{heading}, {unit}")
        ends = {name: line(axes, forward["D = 64"][name], column, name, wide=False) for name in names}
        for name in names:
            line(axes, forward["D = 128"][name], column, name, wide=True)
        low, high = axes.dataLim.y0, axes.dataLim.y1
        if column == "tflops":
            high = record["peak_tflops"]
            axes.axhline(high, color=style.GRAY, linewidth=1.2, linestyle=(0, (2, 3)))
            text = f"cuBLAS's product of two 4096² matrices: {high:.0f}"
            style.label(axes, lengths[0], high, text, style.GRAY, (0, 8), fontsize=9)
        heights = spread(
            {name: value for name, (_, value) in ends.items()}, (high / low) ** (0.17 if len(names) < 4 else 0.2)
        )
        for name in names:
            style.label(axes, lengths[-1], heights[name], LABELS[name], COLORS[LOOKS[name]], (11, 0), fontweight="bold")
        style.log_axis(axes.xaxis, lengths)
        step = 4 if high / low > 2**7 else 2
        style.log_axis(axes.yaxis, style.powers(low / 2, high * 1.5, step))
        axes.set(xlabel="N, queries and keys", xlim=(lengths[0] / 1.2, lengths[-1] * 1.2), ylim=(low / 1.5, high * 1.6))
    return made
