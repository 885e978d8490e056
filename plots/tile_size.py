"""The block-size figure of the paper, for V1 as lesson 06 writes it: bytes and time against the keys of a tile."""

import speed
import style
from data import PlotError
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from style import COLORS

LINES = {32: (0, (1, 1.5)), 64: "-", 128: (0, (5, 2))}  # by the queries of a tile
MARKS = {32: "v", 64: "s", 128: "D"}
WIDTH = "D = 64"


def draw(record: dict, roofs: dict) -> Figure:
    table = record["tiles"][WIDTH]
    rows = [
        {name: column[at] for name, column in table.items()}
        for at, time in enumerate(table["milliseconds"])
        if time is not None
    ]
    for row in rows:
        row["bytes"] = row["read_bytes"] + row["written_bytes"]
    least, most = (end(row["Bc"] for row in rows) for end in (min, max))
    from_row, to_row = (next(row for row in rows if (row["Br"], row["Bc"]) == (64, Bc)) for Bc in (least, most))
    fewer, faster = (from_row[name] / to_row[name] for name in ("bytes", "milliseconds"))
    rate = max(row["bytes"] / row["milliseconds"] for row in rows) / 1e9  # TB/s
    roof = roofs["copy_bytes_per_second"]["median"] / 1e12
    if rate > roof / 2:
        raise PlotError(f"V1 asks for {rate:.2f} of {roof:.2f} TB/s: the title says that HBM is not its limit")
    made, (left, right) = style.figure(
        f"{fewer:.1f} times fewer bytes, {faster:.1f} times the speed: HBM is not what limits this kernel",
        f"V1 with tiles of {least} to {most} keys, Br = 64. The bytes hang on the keys of a tile alone, the time does not",
        f"Forward pass of lesson 06, fp32, no mask: {record['tokens']} tokens as sequences of N = 4096, {WIDTH}, hidden size {record['hidden size']}. Time: medians of CUDA-event\n"
        f"times (bench_06). Bytes: what is asked of HBM, by formula; never more than {rate:.2f} TB/s, where a copy reaches {roof:.2f}. Lesson 06 names the limits. In the\n"
        f"paper's figure of block sizes, too, time stops falling before the bytes do. {speed.source(record)}.",
        wide=True,
        right=1.15,
    )
    keys = sorted({row["Bc"] for row in rows})
    panels = ((left, "Bytes asked of HBM, GB", "bytes", 1e9), (right, "Time, ms", "milliseconds", 1))
    for axes, heading, column, unit in panels:
        style.panel_title(axes, heading)
        for Br in LINES:
            line(axes, [(row["Bc"], row[column] / unit) for row in rows if row["Br"] == Br], Br)
        highest = max(row[column] for row in rows) / unit
        style.log_axis(axes.xaxis, keys)
        axes.set(xlabel="Bc, keys of a tile", xlim=(keys[0] / 1.15, keys[-1] * 1.15), ylim=(0, highest * 1.12))
    style.label(left, keys[-1], to_row["bytes"] / 1e9, "any Br", COLORS["V1"], (11, 0), fontweight="bold")
    for Br, shift in ((32, 8), (64, 8), (128, -8)):
        last = max((row for row in rows if row["Br"] == Br), key=lambda row: row["Bc"])
        style.label(right, last["Bc"], last["milliseconds"], f"Br = {Br}", COLORS["V1"], (11, shift), fontweight="bold")
    return made


def line(axes: Axes, points: list[tuple[int, float]], Br: int) -> None:
    axes.plot(*zip(*points, strict=True), color=COLORS["V1"], linestyle=LINES[Br], marker=MARKS[Br], markersize=6)
