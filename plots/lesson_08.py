"""Lesson 08: the working memory of the backward pass with P stored, and the gradient check."""

import style
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from style import COLORS, MARKERS

D = 64  # of bench_08


def memory(data: dict) -> Figure:
    stored = data["stored"]
    N, kept, scratch = stored["N"], stored["kept_bytes"], stored["scratch_bytes"]
    operands = [8 * n * D * 4 for n in N]  # q, k, v, out and their gradients, (N, D) each, 4 bytes an element
    made, (axes,) = style.figure(
        "Backward, three matrices of N × N",
        f"P is kept since the forward pass, dP and dS are added: "
        f"{style.bytes_text(kept[-1] + scratch[-1])} for one head at N = {N[-1]}",
        f"Peaks measured by fa::Scratch (bench_08); one head, D = {D}, float. "
        "The dashed line is the size of the operands and their gradients.",
        right=1.9,
    )
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1]))
    style.log_axis(axes.yaxis, style.powers(2**16, 2**28, 4), style.bytes_text)
    style.y_title(axes, "bytes")
    axes.set(xlabel="N, queries and keys", ylim=(2**15.5, 2**28.5), xlim=(N[0] / 1.15, N[-1] * 1.15))

    axes.plot(N, operands, color=style.INK, linewidth=1.4, linestyle="--")
    style.label(axes, N[-1], operands[-1], f"operands, gradients\n{style.slope_text(N, operands)}", style.INK)
    lines = ((scratch, "backward: dP, dS, delta", "-", 9), (kept, "kept from forward: P", "--", -9))
    for values, name, dashes, shift in lines:
        axes.plot(N, values, color=COLORS["standard"], marker=MARKERS["standard"], linestyle=dashes)
        text = f"{name}\n{style.slope_text(N, values)}"
        style.label(axes, N[-1], values[-1], text, COLORS["standard"], (9, shift), fontweight="bold", fontsize=9.5)
    return made


def power_text(value: float, position: int | None = None) -> str:
    """0.25 becomes 2 to the power of −2, for steps that are powers of two."""
    return f"$2^{{{round(style.math.log2(value))}}}$"


def gradient_check(data: dict) -> Figure:
    errors = data["errors"]
    steps = [2.0**-halvings for halvings in errors["halvings"]]
    best = min(range(len(steps)), key=lambda at: errors["oracle_error"][at])
    made, (axes,) = style.figure(
        "A smaller step is better, until it is worse",
        f"Central differences of a loss in double are best near a step of {power_text(steps[best])}",
        "Norm-wise difference of central differences and gradients, over dq, dk and dv (bench_08); 2 heads, 5 queries, "
        f"7 keys, D = 4.\nRounding differs from machine to machine. {data['compiler']}.",
        right=0.4,
    )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="step h, smaller to the right",
        xlim=(steps[0] * 2, steps[-1] / 2),
        ylim=(1e-12, 20),
    )
    style.ticks_axis(axes.xaxis, [2.0**-exponent for exponent in range(4, 45, 8)], power_text)
    axes.yaxis.set_major_locator(FixedLocator([10.0**exponent for exponent in range(-12, 1, 3)]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"$10^{{{round(style.math.log10(value))}}}$"))
    style.y_title(axes, "error")

    lines = (
        ("float_loss_error", 18, "loss in float\nagainst the oracle", "standard", (-9, 12), "right"),
        ("backward_error", 20, "loss in double\nagainst lesson 08, in float", "V1", (0, 17), "center"),
        ("oracle_error", 18, "loss in double\nagainst the oracle", "V2", (9, -9), "left"),
    )
    for column, halvings, name, color, offset, side in lines:
        axes.plot(steps, errors[column], color=COLORS[color], marker=MARKERS[color], markersize=4.5)
        at = errors["halvings"].index(halvings)
        style.label(
            axes, steps[at], errors[column][at], name, COLORS[color], offset, ha=side, fontweight="bold", fontsize=9.5
        )
    left = errors["halvings"].index(4), errors["halvings"].index(12)
    right = errors["halvings"].index(28), errors["halvings"].index(38)
    for (start, end), power, text, offset in ((left, 2, "h²", (-24, -8)), (right, -1, "1 / h", (6, -12))):
        below = errors["oracle_error"][start] / 4
        style.slope_guide(axes, (steps[start], below), steps[end], power, text, offset)
    return made


FIGURES = {
    "08_memory": (memory, "08_memory"),
    "08_gradient_check": (gradient_check, "08_gradient_check"),
}
