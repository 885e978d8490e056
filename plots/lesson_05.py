"""Lesson 05: standard attention on a GPU: its working memory, and how long it takes."""

import speed
import style
from matplotlib.figure import Figure
from style import COLORS, MARKERS

D = 64  # of bench_05


def memory(data: dict) -> Figure:
    N, scratch = data["standard"]["N"], data["standard"]["scratch_bytes"]
    operands = [4 * n * D * 4 for n in N]  # q, k, v and out, (N, D) each, 4 bytes an element
    made, (axes,) = style.figure(
        "On a GPU too: twice the sequence, four times the memory",
        f"S and P lie in HBM, N × N each: {style.bytes_text(scratch[-1])} for one head at N = {N[-1]}",
        f"Peak scratch, measured by fa::DeviceScratch (bench_05); one head, D = {D}, float. The dashed line is the size of the operands.",
    )
    style.log_axis(axes.xaxis, style.powers(N[0], N[-1]))
    style.log_axis(axes.yaxis, style.powers(2**14, 2**24, 4), style.bytes_text)
    style.y_title(axes, "bytes")
    axes.set(xlabel="N, queries and keys", ylim=(2**13.5, 2**24.5), xlim=(N[0] / 1.15, N[-1] * 1.15))
    axes.plot(N, operands, color=style.INK, linewidth=1.4, linestyle="--")
    style.label(axes, N[-1], operands[-1], f"q, k, v, out\n{style.slope_text(N, operands)}", style.INK)
    axes.plot(N, scratch, color=COLORS["standard"], marker=MARKERS["standard"])
    text = f"S and P\n{style.slope_text(N, scratch)}"
    style.label(axes, N[-1], scratch[-1], text, COLORS["standard"], fontweight="bold")
    return made


def times(record: dict) -> Figure:
    ratio = speed.ratio_of_times(record, "lesson 05", "cuBLAS", 4096, 64)
    return speed.draw(
        record,
        ("lesson 05", "cuBLAS"),
        f"The same three steps: cuBLAS {speed.compared(1 / ratio)} the lesson's kernels",
        "The factor is that at N = 4096, D = 64. Both write S and P to HBM and read them back",
    )


FIGURES = {"05_memory": (memory, "05_memory"), "05_speed": (times, "h200_forward")}
