"""Lesson 01: the working memory of standard attention."""

import style
from matplotlib.figure import Figure
from style import COLORS, MARKERS

D = 64  # of bench_01


def memory(data: dict) -> Figure:
    N, scratch = data["standard"]["N"], data["standard"]["scratch_bytes"]
    operands = [4 * n * D * 4 for n in N]  # q, k, v and out, (N, D) each, 4 bytes an element
    made, (axes,) = style.figure(
        "Twice the sequence, four times the memory",
        f"Standard attention keeps S and P, N × N each: {style.bytes_text(scratch[-1])} for one head at N = {N[-1]}",
        f"Peak scratch, measured by fa::Scratch (bench_01); one head, D = {D}, float. The dashed line is the size of the operands.",
    )
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1]))
    style.log_axis(axes.yaxis, style.powers(2**16, 2**28, 4), style.bytes_text)
    style.y_title(axes, "bytes")
    axes.set(xlabel="N, queries and keys", ylim=(2**15.5, 2**28.5), xlim=(N[0] / 1.15, N[-1] * 1.15))

    axes.plot(N, operands, color=style.INK, linewidth=1.4, linestyle="--")
    style.label(axes, N[-1], operands[-1], f"q, k, v, out\n{style.slope_text(N, operands)}", style.INK)
    axes.plot(N, scratch, color=COLORS["standard"], marker=MARKERS["standard"])
    style.label(
        axes, N[-1], scratch[-1], f"S and P\n{style.slope_text(N, scratch)}", COLORS["standard"], fontweight="bold"
    )
    return made


FIGURES = {"01_memory": (memory, "01_memory")}
