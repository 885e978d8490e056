"""The tables of lesson 10: a training step beside the paper's."""

import data
from cells import decimal, machine, markdown, moved, row_of, three_digits, time
from data import PlotError

# FlashAttention (arXiv:2205.14135), Figure 2, on an A100: GPT-2 medium, N = 1024, D = 64, 16 heads, batch 64, forward and backward.
PAPER = {
    "standard": {"gflop": 66.6, "gigabytes": 40.3, "milliseconds": 41.7},
    "V1": {"gflop": 75.2, "gigabytes": 4.4, "milliseconds": 7.3},
}


def counted_step(record: dict, name: str) -> int:
    """Bytes of a training step by the emulator: those of one head, which it ran, times the heads. They must be the formula's."""
    shape, step, counts = record["shape"], record[name], data.load("10_traffic")[name]
    tiles = {column: step[column] for column in ("Br", "Bc") if column in counts}
    row = row_of({**counts, "repetitions": counts["N"]}, N=shape["N"], **tiles)
    total = shape["B"] * shape["H"] * moved(row)
    if total != moved(step):
        raise PlotError(f"{name}: by the emulator {total} bytes, by formula {moved(step)}")
    return total


def backward(record: dict) -> str:
    """For lesson 10: a training step by three meters and a clock, beside the paper's."""
    steps = {name: record[name] for name in PAPER}
    paper = PAPER.values()
    rows = [
        [
            "FLOP",
            *(decimal(step["flops"], "FLOP") for step in steps.values()),
            *(f"{one['gflop']} GFLOP" for one in paper),
        ],
        ["bytes asked for: formula", *(decimal(moved(step)) for step in steps.values()), "", ""],
        ["one head on the emulator, times the heads", *(decimal(counted_step(record, name)) for name in steps), "", ""],
        ["the GPU's counters", *(decimal(moved(step["hardware"])) for step in steps.values()), "", ""],
        [
            "bytes through DRAM; the paper: HBM R/W",
            *(decimal(moved(step["hardware"], "dram_")) for step in steps.values()),
            *(f"{one['gigabytes']} GB" for one in paper),
        ],
        ["scratch", *(decimal(step["scratch_bytes"]) for step in steps.values()), "", ""],
        *(
            [f"time of the {one} pass", *(time(step[f"{one}_ms"]) for step in steps.values()), "", ""]
            for one in ("forward", "backward")
        ),
        [
            "time",
            *(time(step["milliseconds"]) for step in steps.values()),
            *(f"{one['milliseconds']} ms" for one in paper),
        ],
        ["of the measured peak", *(f"{100 * step['peak_share']:.0f}%" for step in steps.values()), "", ""],
    ]
    used, shape, share = steps["V1"], record["shape"], record["operand_bytes"] / record["l2_bytes"]
    return "\n".join(
        [
            markdown(("", "standard", "V1", "the paper's standard", "the paper's V1"), rows),
            "",
            f"N = {shape['N']}, D = {shape['D']}, {shape['H']} heads, batch {shape['B']}. V1: Br = {used['Br']}, Bc = {used['Bc']}, the fastest of those below.",
            f"Medians of CUDA-event times, fp32, no mask, no dropout, random inputs. Peak: {three_digits(record['peak_tflops'])} TFLOP/s, cuBLAS in fp32.",
            f"L2 is not flushed: the operands are {share:.0f} times as large. Counters by ncu {record['ncu']}. {machine(record)}.",
            "The paper's: an A100, half precision.",
        ]
    )


def backward_tiles(record: dict) -> str:
    """For lesson 10: V1's tiles against time."""
    table = record["tiles"]
    rows = []
    for Br, Bc in zip(table["Br"], table["Bc"], strict=True):
        row = row_of(table, Br=Br, Bc=Bc)
        times_of_passes = (row["forward_ms"], row["backward_ms"], row["milliseconds"])
        cells = [time(value, "does not fit") for value in times_of_passes]
        rows.append([str(Br), str(Bc), decimal(row["shared_bytes"]), decimal(moved(row)), *cells])
    head = ("Br", "Bc", "shared memory, backward", "HBM, both passes", "forward", "backward", "both")
    return markdown(head, rows)
