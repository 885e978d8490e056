"""What ./course quiz 05 and ./course predict 05 ask. CONTRIBUTING.md tells how to write this file."""

import math

from course import formulas
from course.prediction import Prediction, counted, recorded
from course.question import choice, count, numbers, whole

T = formulas.LESSON_05_TILE


def bytes_read(draw):
    N, D = 8 * draw.randrange(16, 129), draw.choice((32, 64, 80, 128))
    return count(
        f"The three kernels of this lesson, one head, N = {N}, D = {D}, fp32, no mask. How many bytes do they read?",
        formulas.standard_read(N, N, D),
        "q and k once for each tile of the other; S twice; P once for each 32 columns of out; v for each 32 queries.",
    )


def blocks(draw):
    B, H, Nq, Nk = draw.randrange(1, 5), draw.randrange(2, 17), draw.randrange(40, 700), draw.randrange(40, 700)
    rows, columns = formulas.ceil_div(Nq, T), formulas.ceil_div(Nk, T)
    total = B * H * rows * columns
    return whole(
        f"The scores of {B} · {H} heads, Nq = {Nq}, Nk = {Nk}, blocks of 32 × 32 threads, a thread for each score. How many "
        "blocks?",
        total,
        "⌈Nk / 32⌉ · ⌈Nq / 32⌉ for each head.",
        [f"{columns} · {rows} · {B * H} = {total:,}"],
    )


def my_score(draw):
    x, y, bx, by = draw.randrange(32), draw.randrange(32), draw.randrange(6), draw.randrange(6)
    return numbers(
        f"Thread (x, y) = ({x}, {y}) of block ({bx}, {by}, 0), blocks of 32 × 32. Of which query i and which key j does it "
        "compute the score?",
        {"i": by * T + y, "j": bx * T + x},
        "x runs along the keys, so that neighbors in a warp write neighbors in HBM; y along the queries.",
        [f"i = {by} · 32 + {y} = {by * T + y}", f"j = {bx} · 32 + {x} = {bx * T + x}"],
    )


def sectors(draw):
    stride = draw.choice((0, 1, 2, 3, 4, 5, 8, 64))
    first_bytes = [4 * stride * lane for lane in range(32)]
    touched = len({byte // 32 for byte in first_bytes})
    where = (
        "all read the same element"
        if stride == 0
        else f"lane n reads the element {stride} n"
        if stride > 1
        else "lane n reads element n"
    )
    return whole(
        f"A warp reads floats from the beginning of a buffer: {where}. How many sectors of 32 bytes does it ask for?",
        touched,
        "A sector holds 8 floats. Each that is touched is counted once.",
        [f"the last lane reads byte {first_bytes[-1]}; {touched} different sectors are touched"],
    )


def shuffle_partner(draw):
    lane, distance = draw.randrange(32), draw.choice((16, 8, 4, 2, 1))
    return whole(
        f"__shfl_xor_sync with the distance {distance}: from which lane does lane {lane} get its number?",
        lane ^ distance,
        "From the lane whose number differs in one bit: n xor distance.",
        [f"{lane:05b} xor {distance:05b} = {lane ^ distance:05b}"],
    )


def bank_conflict(draw):
    width = draw.choice((32, 33, 34, 36, 40, 48, 64, 65))
    same = math.gcd(width, 32)
    return whole(
        f"A tile in shared memory has rows of {width} floats. The 32 lanes of a warp read one column: lane n reads row n. How "
        "many lanes want the same bank?",
        same,
        "The bank is (row · width + column) mod 32: as many lanes meet as gcd(width, 32) says.",
        [f"gcd({width}, 32) = {same}" + (": no conflict" if same == 1 else "")],
    )


def scratch(draw):
    N, heads = 128 * draw.randrange(4, 33), draw.choice((4, 8, 16))
    options = [f"{formulas.standard_scratch(N, N).with_heads(heads).value():,} bytes, for S and P"]
    options += [
        f"{formulas.v1_scratch(N).with_heads(heads).value():,} bytes, for m and l",
        f"{formulas.v2_scratch(N).with_heads(heads).value():,} bytes, for lse",
        "none: the tiles are in shared memory",
    ]
    right = options[0]
    draw.shuffle(options)
    return choice(
        f"Which memory in HBM do these three kernels need beyond q, k, v and out? {heads} heads, N = {N}, fp32.",
        options,
        right,
        "What a kernel hands to the next one must lie in HBM: S and P, N² elements each, for each head.",
    )


QUESTIONS = (bytes_read, blocks, my_score, sectors, shuffle_partner, bank_conflict, scratch)

READ, WRITTEN = formulas.apart(formulas.standard_read(1024, 1024, 64), formulas.standard_written(1024, 1024, 64))

PREDICTION = Prediction(
    "One head, N = 1024 queries and keys, D = 64, fp32, no mask, on the emulator, which counts.",
    (
        counted("bytes read through HBM", "standard/N:1024", "read_bytes", READ),
        counted("bytes written through HBM", "standard/N:1024", "written_bytes", WRITTEN),
        counted(
            "memory in HBM beyond q, k, v and out",
            "standard/N:1024",
            "scratch_bytes",
            formulas.standard_scratch(1024, 1024),
        ),
        recorded(
            "time of the untiled scores (step 1) over that of the tiled (step 2)",
            "one H200, 128 heads, N = 4096, D = 64",
            "h200_forward",
            lambda record: (
                record["scores"]["scores_untiled"]["milliseconds"][0] / record["scores"]["scores"]["milliseconds"][0]
            ),
        ),
    ),
)
