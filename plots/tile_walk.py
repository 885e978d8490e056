"""In which order standard attention, V1 and V2 go over the tiles, and how often that makes each buffer cross."""

import sys
from pathlib import Path

import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from style import COLORS

sys.path.append(str(Path(__file__).parents[1] / "tools"))
from course import tile_walk  # noqa: E402

TILING = tile_walk.Tiling(N=128, Br=32, Bc=32)
TITLES = {
    "standard": "standard: S, kernel 1 of 3",
    "V1": "V1: K/V tiles outside",
    "V2": "V2: Q tiles outside",
}
ROWS = {"m": 1, "l": 1, "lse": 1, "S": TILING.N, "P": TILING.N}  # columns of a buffer, where they are not D


def draw() -> Figure:
    times = {name: crossings(name) for name in TITLES}
    v1, v2 = times["V1"], times["V2"]
    made, panels = style.figure(
        "The same tiles in another order: what stays on the chip, what crosses",
        f"{len(TILING.rows())} × {len(TILING.columns())} tiles. V1 reads q and out {v1['out'][0]:.0f} times, k and v once. "
        f"V2 reads k and v {v2['k'][0]:.0f} times, q once, and out never",
        f"./course demo tiles: the loops of lessons 05, 06 and 11 over one head, N = {TILING.N}, D = {TILING.D}, tiles of {TILING.Br} × {TILING.Bc}, no mask.\n"
        "Numbers: the order of the steps; blocks of a GPU run at the same time. Bars: bytes that cross, over the size of the buffer.\n"
        "Standard attention goes over the tiles again in kernel 3; of P it reads each tile twice, once for each 32 columns of out.",
        wide=True,
        height=7.1,
    )
    for axes in panels:
        axes.remove()
    for at, name in enumerate(TITLES):
        left = 0.075 + at * 0.318
        order(made.add_axes((left, 0.44, 0.26, 0.26 * 10.4 / 7.1)), name)
        bars(made.add_axes((left, 0.185, 0.23, 0.19)), name, times[name])
    key = [
        Patch(facecolor=style.GRAY, edgecolor=style.GRAY, label="read"),
        Patch(facecolor="white", edgecolor=style.GRAY, label="written"),
    ]
    made.legend(handles=key, loc="center right", bbox_to_anchor=(0.985, 0.408), ncols=2, frameon=False, fontsize=9.5)
    return made


def crossings(name: str) -> dict[str, tuple[float, float]]:
    """How often each buffer is read and written, as a whole."""
    moved = tile_walk.totals(tile_walk.walk(name, TILING))
    result = {}
    for buffer in tile_walk.BUFFERS[name]:
        whole = TILING.N * ROWS.get(buffer, TILING.D) * tile_walk.FLOAT
        result[buffer] = (moved[buffer]["read_bytes"] / whole, moved[buffer]["written_bytes"] / whole)
    return result


def order(axes: Axes, name: str) -> None:
    """The tiles in the order of the first pass over them, and a line through them."""
    steps = tile_walk.walk(name, TILING)
    first = next(step for step in steps if step.i is not None).doing
    tiles = [(step.j, step.i) for step in steps if step.doing == first]
    rows, columns = len(TILING.rows()), len(TILING.columns())
    for x in range(columns):
        for y in range(rows):
            axes.add_patch(Rectangle((x, y), 1, 1, facecolor="white", edgecolor=style.GRAY, linewidth=0.8))
    for number, (x, y) in enumerate(tiles):
        patch = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # no line through a number
        axes.text(x + 0.1, y + 0.12, str(number + 1), fontsize=10, va="top", color=style.INK, bbox=patch, zorder=5)
    for (x, y), (next_x, next_y) in zip(tiles, tiles[1:], strict=False):
        near = abs(next_x - x) + abs(next_y - y) == 1
        axes.annotate(
            "",
            (next_x + 0.5, next_y + 0.55),
            (x + 0.5, y + 0.55),
            arrowprops={
                "arrowstyle": "-|>",
                "color": COLORS[name],
                "linewidth": 2.4 if near else 1.0,
                "linestyle": "-" if near else (0, (3, 2)),
                "shrinkA": 3,
                "shrinkB": 3,
                "mutation_scale": 11,
            },
        )
    axes.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal")
    axes.set_xticks([x + 0.5 for x in range(columns)], [f"k{x}" for x in range(columns)])
    axes.set_yticks([y + 0.5 for y in range(rows)], [f"q{y}" for y in range(rows)])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.set_title(TITLES[name], loc="left", fontsize=11.5, fontweight="bold", color=COLORS[name], pad=8)


def bars(axes: Axes, name: str, times: dict[str, tuple[float, float]]) -> None:
    """For each buffer how often it is read (filled) and written (hollow)."""
    for at, (read, written) in enumerate(times.values()):
        axes.barh(at - 0.2, read, height=0.36, color=COLORS[name], edgecolor=COLORS[name])
        axes.barh(at + 0.2, written, height=0.36, color="white", edgecolor=COLORS[name], linewidth=1.4)
    axes.set_yticks(range(len(times)), list(times))
    axes.set(xlim=(0, 5.2), ylim=(len(times) - 0.4, -0.6), xlabel="times that the buffer crosses")
    axes.set_xticks(range(6))
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
