"""What ./course quiz 11 and ./course predict 11 ask. CONTRIBUTING.md tells how to write this file."""

import math
from fractions import Fraction

from course import draws, formulas, softmax_state
from course.prediction import Prediction, counted, recorded
from course.question import choice, count, number, numbers

BR, BC = 64, 32


def waves(draw):
    B, H, chips = draw.choice((1, 2, 4)), draw.choice((8, 12, 16, 32)), draw.choice((40, 80, 108, 132))
    N = draw.randrange(300, 5000)
    blocks = B * H * formulas.ceil_div(N, BR)
    return numbers(
        f"{B} sequences of {H} heads, N = {N}, tiles of {BR} queries. How many blocks has the grid, and how many waves are "
        f"these on {chips} multiprocessors, if each runs one block at a time?",
        {"blocks": blocks, "waves": formulas.ceil_div(blocks, chips)},
        "A block for each tile of queries of each head; ⌈blocks / multiprocessors⌉ waves.",
        [
            f"⌈{N} / {BR}⌉ · {B} · {H} = {blocks}",
            f"⌈{blocks} / {chips}⌉ = {formulas.ceil_div(blocks, chips)}",
        ],
    )


def bytes_read(draw):
    N, D = 8 * draw.randrange(32, 257), draw.choice((32, 48, 64, 128))
    return count(
        f"One head, N = {N}, D = {D}, tiles of {BR} queries and {BC} keys, fp32, no mask. How many bytes does V2 read "
        "through HBM?",
        formulas.v2_read(N, N, D, BR).beside("by V1 with these tiles", formulas.v1_read(N, N, D, BC)),
        "q once; k and v once for each of the ⌈N / Br⌉ Q tiles.",
    )


def bytes_written(draw):
    N, D, heads = 8 * draw.randrange(32, 257), draw.choice((32, 64, 128)), draw.choice((1, 4, 16))
    return count(
        f"{draws.heads(heads)}, N = {N}, D = {D}, fp32. How many bytes does V2 write through HBM?",
        formulas.v2_written(N, D).with_heads(heads),
        "out and lse once: N D + N floats for a head, whatever the tiles are.",
    )


def shared_memory(draw):
    D = draw.choice((20, 32, 40, 64, 72, 100, 128))
    columns = next(width for width in (32, 64, 128) if width >= D)
    return count(
        f"Br = {BR}, Bc = {BC}, D = {D}, which is rounded up to 32, 64 or 128 columns. How many bytes of shared memory does a "
        "block of this lesson's kernel take?",
        formulas.v2_shared(columns),
        f"Tiles of q, k, v with {columns} columns, and of P, each with a column of padding.",
    )


def tiles_of_a_block(draw):
    N, x = 64 * draw.randrange(4, 17), 0
    x = draw.randrange(N // BR)
    seen = formulas.ceil_div((x + 1) * BR, BC)
    whole_ones = (x * BR + 1) // BC
    return numbers(
        f"A causal mask, N = {N}, tiles of {BR} queries and {BC} keys. How many K/V tiles does block x = {x} load, and how "
        "many of them need the mask?",
        {"loaded": seen, "masked": seen - whole_ones},
        "The last query of the block tells what is loaded; a tile that the first one sees whole needs no mask.",
        [
            f"the last query, {(x + 1) * BR - 1}, sees {(x + 1) * BR} keys: {seen} tiles",
            f"the first one, {x * BR}, sees {x * BR + 1} keys: {whole_ones} whole tiles",
        ],
    )


def lse_after_tiles(draw):
    scores, values = draw.sample(range(0, 5), 3), draw.sample(range(1, 10), 3)
    state = softmax_state.of_tile(scores, values)
    return numbers(
        f"A row has the scores {', '.join(map(str, scores))} and the values {', '.join(map(str, values))}. What does V2 write "
        "for it: out and lse?",
        {"out": state.output(), "lse": state.log_sum_exp()},
        "out = u / l, divided once, at the end; lse = m + ln l.",
        [
            f"m = {state.m}, l = {state.l:.6g}, u = {state.u:.6g}",
            f"{state.m} + ln {state.l:.6g} = {state.log_sum_exp():.6g}",
        ],
    )


def loads_for_a_multiplication(draw):
    rows, columns = draw.choice((1, 2, 4, 8)), draw.choice((1, 2, 4, 8, 16))
    loads, products = rows + columns, rows * columns
    return number(
        f"A thread computes {rows} × {columns} numbers of a product. For each step it loads {rows} words of one operand and "
        f"{columns} of the other from shared memory. How many loads are these for one multiply-add?",
        Fraction(loads, products),
        "(rows + columns) / (rows · columns).",
        [f"{loads} / {products} = {loads / products:.4g}"],
    )


def merge_by_lse(draw):
    first, apart = draw.randrange(10, 50) / 10, draw.choice((-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2))
    outs = draw.sample(range(1, 9), 2)
    second = first + apart
    share = 1 / (1 + math.exp(apart))
    merged = share * outs[0] + (1 - share) * outs[1]
    return number(
        f"Two runs over different keys of a row left out = {outs[0]}, lse = {first:g} and out = {outs[1]}, lse = {second:g}. "
        "What is out over all keys?",
        merged,
        "Each out weighs e^lse, divided by the sum of both.",
        [f"{share:.6g} · {outs[0]} + {1 - share:.6g} · {outs[1]} = {merged:.6g}"],
    )


def fewer_bytes(draw):
    D, Bc = 64, draw.choice((32, 64, 128, 256))
    N = 64 * draw.randrange(16, 65)
    v1 = formulas.v1_read(N, N, D, Bc).value() + formulas.v1_written(N, N, D, Bc).value()
    v2 = formulas.v2_read(N, N, D, BR).value() + formulas.v2_written(N, D).value()
    return choice(
        f"One head, N = {N}, D = {D}, fp32. Which moves fewer bytes, V1 with tiles of {Bc} keys or V2 with tiles of {BR} "
        "queries?",
        ("V1", "V2"),
        "V1" if v1 < v2 else "V2",
        "V1 moves about 3 N D for each K/V tile, V2 2 N D for each Q tile: it depends on the tiles.",
        [f"V1: {v1:,} bytes, V2: {v2:,} bytes"],
    )


QUESTIONS = (
    waves,
    bytes_read,
    bytes_written,
    shared_memory,
    tiles_of_a_block,
    lse_after_tiles,
    loads_for_a_multiplication,
    merge_by_lse,
    fewer_bytes,
)


def v1_over_v2(record):
    times = {name: record["forward"]["D = 64"][name] for name in ("lesson 06", "lesson 11")}
    v1, v2 = (of["milliseconds"][of["N"].index(4096)] for of in times.values())
    return v1 / v2


READ, WRITTEN = formulas.apart(formulas.v2_read(256, 256, 64, BR), formulas.v2_written(256, 64))

PREDICTION = Prediction(
    "V2, one head, N = 256 queries and keys, D = 64, tiles of 64 queries and 32 keys, fp32, no mask, on the emulator, which "
    "counts.",
    (
        counted("bytes read through HBM", "v2/N:256", "read_bytes", READ),
        counted("bytes written through HBM", "v2/N:256", "written_bytes", WRITTEN),
        counted("memory in HBM beyond q, k, v and out", "v2/N:256", "scratch_bytes", formulas.v2_scratch(256)),
        recorded(
            "time of V1 (lesson 06) over that of V2",
            "one H200, 128 heads, N = 4096, D = 64",
            "h200_v2",
            v1_over_v2,
        ),
    ),
)
