"""What ./course quiz 09 and ./course predict 09 ask. CONTRIBUTING.md tells how to write this file."""

import math

from course import draws, formulas
from course.prediction import Prediction, counted, ratio_of_times
from course.question import choice, count, number, whole


def bytes_read(draw):
    shape = draws.head(draw)
    return count(
        f"{shape} delta is computed anew for each K/V tile. How many bytes does this backward pass read through HBM?",
        formulas.v1_backward_read(shape.N, shape.N, shape.D, shape.Bc),
        "k and v once; q, out, dout, dq, m and l once for each of the ⌈N / Bc⌉ K/V tiles.",
    )


def bytes_written(draw):
    shape = draws.head(draw)
    return count(
        f"{shape} How many bytes does this backward pass write through HBM?",
        formulas.v1_backward_written(shape.N, shape.N, shape.D, shape.Bc),
        "dk and dv once; dq once to set it to 0, and once for each of the ⌈N / Bc⌉ K/V tiles.",
    )


def recomputed_weight(draw):
    m, back, l = draw.randrange(-2, 6), draw.randrange(0, 30) / 10, draw.randrange(11, 50) / 10  # noqa: E741
    score = m - back
    return number(
        f"The forward pass left m = {m} and l = {l:g} for a row. A score of it is {score:g}. What is its weight?",
        math.exp(-back) / l,
        "p = e^(s − m) / l. m and l are those of the whole row, so nothing is rescaled.",
        [f"e^({score:g} − {m}) / {l:g} = {math.exp(-back) / l:.6g}"],
    )


def flop(draw):
    N, D, heads = 128 * draw.randrange(2, 17), draw.choice((32, 64, 128)), draw.choice((1, 8, 16))
    again = formulas.backward_flop(N, N, D, stored=False).with_heads(heads)
    stored = formulas.backward_flop(N, N, D, stored=True).with_heads(heads)
    return count(
        f"The products of the backward pass with P recomputed, {draws.heads(heads)}, N = {N}, D = {D}, no mask. How "
        "many FLOP?",
        again.beside("if P is stored; here Q Kᵀ is computed again", stored),
        "Five products, each 2 N² D for a head.",
        "FLOP",
    )


def kept(draw):
    N, heads, layers = 256 * draw.randrange(2, 17), draw.choice((8, 16, 32)), draw.choice((12, 24, 32))
    return count(
        f"A model has {layers} layers of {heads} heads, N = {N}, one sequence. What must be kept of the softmax from forward "
        "to backward pass, if P is recomputed from m and l in fp32? How many bytes, in all layers?",
        formulas.v1_scratch(N).with_heads(heads * layers),
        "m and l, two floats for each query of each head of each layer.",
        "bytes",
    )


def keys_that_fit(draw):
    sram, D = 1024 * draw.choice((64, 99, 163, 227)), draw.choice((32, 64, 128))
    Bc = formulas.most_keys(sram, D, backward=True)
    return whole(
        f"SRAM of {sram:,} bytes, D = {D}, fp32, Br = min(Bc, D). What is the largest Bc with which a pair of tiles of the "
        "backward pass fits?",
        Bc,
        "4 · (4 Br D + 4 Bc D + Br Bc + 2 Br) must be at most the bytes of SRAM.",
        [
            f"Bc = {keys}: {formulas.tile_bytes(min(keys, D), keys, D, backward=True).value():,} bytes with Br = {min(keys, D)}"
            for keys in (Bc, Bc + 1)
        ],
    )


def where_it_is_free(draw):
    D, ridge = draw.choice((32, 64, 128)), draw.choice((10, 20, 100, 185))
    in_time, needed = 6 * ridge, 2 * D
    free = needed < in_time
    return choice(
        f"A stored weight in fp16 is written once and read twice: 6 bytes. A machine does {ridge} FLOP in the time of one "
        f"byte. D = {D}. Which takes longer, moving the weight or the {needed} FLOP that make its score anew?",
        ("moving it", "making it anew"),
        "moving it" if free else "making it anew",
        "Compare 2 D FLOP with those that the machine does in the time of 6 bytes.",
        [f"6 · {ridge} = {in_time} FLOP in that time, and 2 · {D} = {needed}"],
    )


QUESTIONS = (bytes_read, bytes_written, recomputed_weight, flop, kept, keys_that_fit, where_it_is_free)

READ, WRITTEN = formulas.apart(
    formulas.v1_backward_read(512, 512, 64, 130), formulas.v1_backward_written(512, 512, 64, 130)
)

PREDICTION = Prediction(
    "Backward pass, one head, N = 512 queries and keys, D = 64, tiles of 64 × 130, fp32, no mask, on this CPU.",
    (
        counted("bytes read through HBM", "recomputed/N:512", "read_bytes", READ),
        counted(
            "bytes written through HBM",
            "recomputed/N:512",
            "written_bytes",
            WRITTEN,
        ),
        counted(
            "memory kept from forward to backward pass, beyond operands, out and gradients",
            "recomputed/N:512",
            "scratch_bytes",
            formulas.v1_scratch(512),
        ),
        ratio_of_times(
            "time of this backward pass over that of lesson 08, which keeps P", "recomputed/N:512", over="stored/N:512"
        ),
    ),
)
