"""Lesson 04: the roofline. What the bytes of each algorithm allow, at most, on a GPU whose two roofs were measured."""

import style
from matplotlib.figure import Figure
from style import COLORS, MARKERS

TERA = 1e12

# Where the label of a point stands, in points from it, and which of its edges is there: no label lies on another.
PLACES = {
    ("D = 64", "standard"): (11, -13, "left"),
    ("D = 128", "standard"): (11, -13, "left"),
    ("D = 128", "V1"): (-13, 6, "right"),
    ("D = 128", "V2"): (12, 24, "right"),
    ("D = 64", "V1"): (0, -24, "center"),
    ("D = 64", "V2"): (-6, 24, "left"),
}


def draw(data: dict, roofs: dict) -> Figure:
    bandwidth, peak = (roofs[name]["median"] for name in ("copy_bytes_per_second", "product_flop_per_second"))
    ridge = peak / bandwidth
    intensity = {place: data[place[0]][place[1]]["flop"] / data[place[0]][place[1]]["hbm_bytes"] for place in PLACES}

    def ceiling(at: float) -> float:
        return min(peak, at * bandwidth) / TERA

    capped = ceiling(intensity["D = 64", "standard"])
    made, (axes,) = style.figure(
        f"Bytes alone hold standard attention to {capped:.0f} of {peak / TERA:.0f} TFLOP/s at D = 64",
        "The ceiling that bytes allow on one H200. None of these algorithms was timed here",
        "Points: FLOP of the two products over bytes through HBM, by formula (demo_traffic); one head, N = 4096, fp16,\n"
        "tiles for 227 KiB of SRAM. Caches are left out. Standard attention is idealized: each kernel touches each operand once.\n"
        f"Roofs: {roofs['gpu']}, driver {roofs['driver']}, PyTorch {roofs['pytorch']}, CUDA {roofs['cuda']}, commit {roofs['commit']};\n"
        f"{roofs['measured']}.",
        right=0.3,
    )
    left, right, bottom = 16, 1024, 64
    style.log_axis(axes.xaxis, style.powers(left, right))
    style.log_axis(axes.yaxis, style.powers(bottom, 1024))
    style.y_title(axes, "TFLOP/s, at most")
    axes.set(xlabel="FLOP per byte through HBM", xlim=(left, right), ylim=(bottom, 1400))
    axes.plot([left, ridge, right], [ceiling(left), ceiling(ridge), ceiling(right)], color=style.INK, linewidth=2)
    axes.plot([left, ridge], [ceiling(ridge)] * 2, color=style.INK, linewidth=1, linestyle=(0, (2, 3)))
    axes.plot([ridge, ridge], [bottom, ceiling(ridge)], color=style.GRAY, linewidth=1, linestyle=(0, (2, 3)))
    style.label(axes, ridge, bottom, f"{ridge:.0f} FLOP/byte: the roofs meet", style.GRAY, (5, 9), fontsize=9.5)
    style.label(axes, left, ceiling(ridge), f"matrix product: {peak / TERA:.0f} TFLOP/s", style.INK, (6, 9))
    style.label(axes, 45, ceiling(45), f"copy: {bandwidth / TERA:.2f} TB/s", style.INK, (-8, 8), ha="right")

    for (D, name), (right_by, up_by, edge) in PLACES.items():
        at = intensity[D, name]
        fill = COLORS[name] if D == "D = 64" else "white"
        axes.plot(
            at,
            ceiling(at),
            color=COLORS[name],
            marker=MARKERS[name],
            markersize=9,
            markerfacecolor=fill,
            markeredgewidth=2,
        )
        text = f"{name}, {D}\n{at:.0f} FLOP/byte" + (f": ≤ {ceiling(at):.0f}" if at < ridge else "")
        style.label(axes, at, ceiling(at), text, COLORS[name], (right_by, up_by), ha=edge, fontsize=9.5)
    return made
