"""How all figures look: colors, axes, labels. Text becomes paths, so that a figure looks the same everywhere."""

import io
import math

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

# Of Okabe and Ito's palette and, for SRAM, of Tol's: color-blind readers can tell them apart. A color means one
# algorithm in all figures, and so does a marker, for prints in black and white.
COLORS = {
    "standard": "#D55E00",
    "V1": "#0072B2",
    "V2": "#009E73",
    "SRAM": "#AA4499",
    "least possible": "#555555",
    "cuBLAS": "#222222",
}
MARKERS = {"standard": "o", "V1": "s", "V2": "^", "SRAM": "D", "cuBLAS": "P"}
INK, GRAY, PALE = "#222222", "#666666", "#E3E3E3"

SETTINGS = {
    "svg.fonttype": "path",
    "svg.hashsalt": "flash-attention-course",
    "font.family": "DejaVu Sans",  # matplotlib brings it along
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": GRAY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "grid.linewidth": 0.7,
    "xtick.color": GRAY,
    "ytick.color": GRAY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 2.2,
    "lines.markersize": 6,
    "lines.solid_capstyle": "round",
}


def figure(
    title: str, subtitle: str, notes: str, wide: bool = False, right: float = 1.7, height: float | None = None
) -> tuple[Figure, list[Axes]]:
    """One panel, or two in a wide figure. The title states what is found; `notes` say what was measured and how, in
    small lines. `right` is the room for labels beside each panel, in inches; `height` that of the figure."""
    matplotlib.rcdefaults()  # nobody's own matplotlibrc
    matplotlib.rcParams.update(SETTINGS)
    width, usual = (10.4, 5.0) if wide else (8.2, 5.1)
    height = height or usual
    made = Figure(figsize=(width, height), facecolor="white")  # opaque: pages may be dark
    edge, ticks, panels = 0.2, 0.95, 2 if wide else 1
    made.text(edge / width, 1 - 0.3 / height, title, fontsize=14, fontweight="bold", va="center")
    made.text(edge / width, 1 - 0.62 / height, subtitle, fontsize=11, color=GRAY, va="center")
    made.text(edge / width, 0.13 / height, notes, fontsize=8.5, color=GRAY, va="bottom", linespacing=1.35)
    bottom = 0.82 + 0.16 * (1 + notes.count("\n"))
    panel = width / panels - ticks - right
    places = [(ticks + at * width / panels, bottom, panel, height - bottom - 1.25) for at in range(panels)]
    return made, [made.add_axes((x / width, y / height, w / width, h / height)) for x, y, w, h in places]


def svg(made: Figure) -> str:
    buffer = io.StringIO()
    FigureCanvasSVG(made).print_svg(buffer, metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def bytes_text(value: float, position: int | None = None) -> str:
    """1536 becomes 1.5 KiB. The second argument is for matplotlib."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value >= 2**power:
            return f"{three_digits(value / 2**power)} {unit}"
    return f"{value:g} B" if value else "0"


def three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def times_text(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.1f}"


def number_text(value: float, position: int | None = None) -> str:
    return f"{value:g}"


def kilo_text(value: float, position: int | None = None) -> str:
    return f"{value / 1024:g}K"


def powers(least: float, most: float, step: int = 2) -> list[int]:
    """Powers of two from `least` to `most`, each `step` times the one before."""
    first, ratio = math.ceil(math.log2(least)), int(math.log2(step))
    return [2**exponent for exponent in range(first, int(math.log2(most)) + 1, ratio)]


def log_axis(axis: Axis, ticks: list[int], text=number_text) -> None:
    """A logarithmic axis with powers of two written out."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    ticks_axis(axis, ticks, text)


def ticks_axis(axis: Axis, ticks: list[int], text=number_text) -> None:
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(text))
    axis.set_tick_params(length=3)


def label(axes: Axes, x: float, y: float, text: str, color: str, offset: tuple[float, float] = (9, 0), **more) -> None:
    """Text beside a point; offset in points."""
    options = {"ha": "left", "va": "center", "linespacing": 1.25, **more}
    axes.annotate(
        text, (x, y), xytext=offset, textcoords="offset points", color=color, annotation_clip=False, **options
    )


def panel_title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=11.5, fontweight="bold", pad=10)


def y_title(axes: Axes, text: str) -> None:
    """What the vertical axis shows, to be read without turning the head."""
    axes.set_title(text, loc="left", fontsize=10.5, color=GRAY, pad=8)


def slope(x: list[float], y: list[float]) -> float:
    """The slope of the least-squares line through the logarithms."""
    u, v = [math.log(value) for value in x], [math.log(value) for value in y]
    mean_u, mean_v = sum(u) / len(u), sum(v) / len(v)
    return sum((a - mean_u) * (b - mean_v) for a, b in zip(u, v, strict=True)) / sum((a - mean_u) ** 2 for a in u)


def slope_text(x: list[float], y: list[float]) -> str:
    fitted = slope(x, y)
    return "constant" if y[0] == y[-1] else f"fitted slope {fitted:.2f}"


def slope_guide(
    axes: Axes, start: tuple[float, float], end_x: float, power: int, text: str, offset: tuple[float, float]
) -> None:
    """A thin line that shows how steep a power is on these axes."""
    x, y = start
    end_y = y * (end_x / x) ** power
    axes.plot([x, end_x], [y, end_y], color=GRAY, linewidth=1, linestyle=(0, (4, 3)))
    label(axes, math.sqrt(x * end_x), math.sqrt(y * end_y), text, GRAY, offset, fontsize=9.5)


def wide_heads(traffic: dict) -> str:
    """What the figures for D = 64 must not hide."""
    wide = {name: moved[0] for name, moved in traffic["formula at D = 128"].items()}
    ratio = {name: wide[name] / wide["standard"] for name in ("V1", "V2")}
    factors = f"V1 moves {ratio['V1']:.2f} times and V2 {ratio['V2']:.2f} times"
    return f"In float at D = 128, N = {wide['N']}, {factors} the bytes of standard attention."
