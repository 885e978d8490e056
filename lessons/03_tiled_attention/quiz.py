"""What ./course quiz 03 and ./course predict 03 ask. CONTRIBUTING.md tells how to write this file."""

import math

from course import draws, formulas
from course.prediction import Prediction, counted, ratio_of_times
from course.question import count, number, numbers, whole


def sram_of_tiles(draw):
    Br, Bc, D = draw.choice(draws.TILES), draw.choice(draws.TILES), draw.choice((32, 48, 64, 128))
    return count(
        f"Tiles of Br = {Br} queries and Bc = {Bc} keys, D = {D}, fp32: those of q, k, v, of the scores and of u, with m and "
        "l. How many bytes of SRAM?",
        formulas.tile_bytes(Br, Bc, D),
        "(2 Br + 2 Bc) D + Br Bc + 2 Br floats. The tile of u is as large as that of q.",
    )


def bytes_read(draw):
    N, D, Br = 8 * draw.randrange(32, 257), draw.choice((32, 48, 64)), draw.choice(draws.TILES)
    return count(
        f"Q tiles outside, K/V tiles inside. One head, N = {N}, D = {D}, Br = {Br}, fp32, no mask. How many bytes are read?",
        formulas.v2_read(N, N, D, Br),
        "q is read once; k and v once for each Q tile, of which there are ⌈N / Br⌉.",
    )


def last_tiles(draw):
    Br, Bc = draw.choice((16, 24, 32, 40)), draw.choice((24, 32, 48, 64))
    Nq, Nk = draw.randrange(65, 400), draw.randrange(65, 400)
    rows, columns = Nq - (formulas.ceil_div(Nq, Br) - 1) * Br, Nk - (formulas.ceil_div(Nk, Bc) - 1) * Bc
    return numbers(
        f"Nq = {Nq}, Nk = {Nk}, Br = {Br}, Bc = {Bc}. How many rows has the last Q tile, and how many columns the last K/V "
        "tile?",
        {"rows": rows, "columns": columns},
        "A partial tile has min(Br, Nq − i) rows and min(Bc, Nk − j) columns.",
        [
            f"the last Q tile begins at {Nq - rows}: {Nq} − {Nq - rows} = {rows}",
            f"the last K/V tile begins at {Nk - columns}: {Nk} − {Nk - columns} = {columns}",
        ],
    )


def tiles_loaded(draw):
    B = draw.choice((16, 32))
    Tr = draw.randrange(3, 7)
    more = draw.randrange(0, 3)
    Nq, Nk = Tr * B, (Tr + more) * B
    total = formulas.pairs_that_run(Nq, Nk, B, B)
    return whole(
        f"A causal mask, Nq = {Nq}, Nk = {Nk}, Br = Bc = {B}. How many K/V tiles are loaded, over all Q tiles?",
        total,
        "The last query of a Q tile tells which keys it needs; K/V tiles after them are not loaded.",
        [" + ".join(str(t + 1 + more) for t in range(Tr)) + f" = {total}"],
    )


def weight_from_lse(draw):
    lse, back = draw.randrange(20, 90) / 10, draw.randrange(3, 30) / 10
    score = round(lse - back, 1)
    return number(
        f"A row has lse = {lse:g}. How large is the weight of a key with the score {score:g}?",
        math.exp(score - lse),
        "p = e^(s − lse): no maximum and no sum are needed.",
        [f"e^({score:g} − {lse:g}) = {math.exp(score - lse):.6g}"],
    )


def what_grows(draw):
    N, heads = 256 * draw.randrange(2, 33), draw.choice((4, 8, 16, 32))
    return count(
        f"Tiled attention, {heads} heads, N = {N}, fp32. What it keeps in HBM beyond q, k, v and out is lse. How many bytes?",
        formulas.v2_scratch(N).with_heads(heads),
        "One float for each query of each head. S and P would be N² each.",
    )


QUESTIONS = (sram_of_tiles, bytes_read, last_tiles, tiles_loaded, weight_from_lse, what_grows)

READ, WRITTEN = formulas.v2_read(1024, 1024, 64, 64), formulas.v2_written(1024, 64)

PREDICTION = Prediction(
    "One head, N = 1024 queries and keys, D = 64, tiles of 64 × 64, fp32, no mask, on this CPU.",
    (
        counted(
            "bytes through HBM, read and written together",
            "tiled/N:1024",
            "hbm_bytes",
            formulas.both(READ, WRITTEN).beside("if only reads are counted", READ),
        ),
        counted("memory in HBM beyond q, k, v and out", "tiled/N:1024", "scratch_bytes", formulas.v2_scratch(1024)),
        counted("SRAM of the tiles", "tiled/N:1024", "sram_bytes", formulas.tile_bytes(64, 64, 64)),
        ratio_of_times("time of lesson 01 over time of tiled attention", "naive/N:1024", over="tiled/N:1024"),
    ),
)
