"""What ./course quiz 07 and ./course predict 07 ask. CONTRIBUTING.md tells how to write this file."""

from course import formulas
from course.prediction import Prediction, counted, recorded
from course.question import choice, number, whole

FORMATS = {"fp16": 11, "bf16": 8}  # bits of a number, its leading 1 included


def tile_count(N, Bc):
    return max(1, formulas.ceil_div(N, Bc))


def read(N, D, Bc):
    Tc = tile_count(N, Bc)
    return 4 * N * D + Tc * 2 * N * D + (Tc - 1) * (4 * N * D + 8 * N)


def written(N, D, Bc):
    Tc = tile_count(N, Bc)
    return Tc * 8 * N + (Tc - 1) * 4 * N * D + 2 * N * D


def drawn(draw):
    N, D, Bc = 64 * draw.randrange(4, 33), draw.choice((64, 128)), draw.choice((64, 128, 192, 256))
    return N, D, Bc, f"One head, N = {N} queries and keys, D = {D}, K/V tiles of {Bc} keys, fp16, no mask."


def bytes_read(draw):
    N, D, Bc, shape = drawn(draw)
    Tc = tile_count(N, Bc)
    return number(
        f"{shape} How many bytes does V1 on tensor cores read through HBM?",
        read(N, D, Bc),
        "k and v once and q for each K/V tile, 2 bytes an element; partial, m and l, floats, for each K/V tile but the first.",
        [
            f"Tc = ⌈{N} / {Bc}⌉ = {Tc}",
            f"2 · 2 · {N} · {D} + {Tc} · 2 · {N} · {D} + {Tc - 1} · 4 · {N} · ({D} + 2) = {read(N, D, Bc):,}",
        ],
        unit="bytes",
    )


def bytes_written(draw):
    N, D, Bc, shape = drawn(draw)
    Tc = tile_count(N, Bc)
    return number(
        f"{shape} How many bytes does V1 on tensor cores write through HBM?",
        written(N, D, Bc),
        "m and l, floats, for each K/V tile; partial, floats, for each but the last; out, 2 bytes an element, once.",
        [f"{Tc} · 8 · {N} + {Tc - 1} · 4 · {N} · {D} + 2 · {N} · {D} = {written(N, D, Bc):,}"],
        unit="bytes",
    )


def state(draw):
    N, D, heads = 1024 * draw.choice((1, 2, 4, 8, 16)), draw.choice((64, 128)), draw.choice((8, 16, 128))
    return number(
        f"{heads} heads, N = {N}, D = {D}. How many bytes of working memory does V1 on tensor cores take in HBM?",
        heads * N * 4 * (D + 2),
        "partial, a row of D floats for each query, and m and l.",
        [f"{heads} · {N} · 4 · ({D} + 2) = {heads * N * 4 * (D + 2):,}"],
        unit="bytes",
    )


def shared_memory(draw):
    Br, Bc, D = draw.choice((64, 128, 192)), draw.choice((64, 96, 128)), draw.choice((64, 128))
    wide = max(Bc, D)
    total = 2 * 2 * Bc * (D + 8) + 2 * Br * (wide + 8) + 4 * Br * (wide + 4)
    return number(
        f"Tiles of {Br} × {Bc} (queries × keys), D = {D}, fp16. How many bytes of shared memory does a block of the kernel that you "
        "write take?",
        total,
        "k and v, Bc rows of D + 8; q, then P, Br rows of max(Bc, D) + 8; S, then P V, Br rows of max(Bc, D) + 4 floats.",
        [f"2 · 2 · {Bc} · {D + 8} + 2 · {Br} · {wide + 8} + 4 · {Br} · {wide + 4} = {total:,}"],
        unit="bytes",
    )


def stuck(draw):
    name = draw.choice(list(FORMATS))
    most = 2 ** FORMATS[name]
    return whole(
        f"A sum in {name} begins at 0, and 1 is added again and again. At which number does it stop growing?",
        most,
        "A number has a leading 1 and its bits of fraction. From there on the next number is 2 away, and 1 rounds to nothing.",
        [f"{FORMATS[name]} bits: 2^{FORMATS[name]} = {most:,}, and {most:,} + 1 rounds to {most:,}"],
    )


def passes(draw):
    D, padding = draw.choice((64, 128)), draw.choice((0, 8, 16, 32))
    first = [r * 2 * (D + padding) // 4 % 32 for r in range(8)]
    most = max(sum(bank in range(start, start + 4) for start in first) for bank in range(32))
    return whole(
        f"Rows of {D} halves are padded by {padding} halves. How many passes do 16 bytes of each of 8 rows, one below the other, "
        "take? A bank has 4 bytes, and there are 32.",
        most,
        "Pieces that begin at the same bank wait for each other.",
        [f"a row is {2 * (D + padding)} bytes, so the pieces begin at the banks {', '.join(map(str, first))}"],
    )


def rounded_where(draw):
    right = draw.choice(("the weights", "out"))
    kept = draw.sample(["the scores", "m", "l", "partial", "the sums P V"], 3)
    options = draw.sample([right, *kept], 4)
    return choice(
        f"Which of these does V1 on tensor cores round to half precision: {', '.join(options[:-1])} or {options[-1]}?",
        options,
        right,
        "Tensor cores sum in float. Weights are rounded because they are an operand, out because it is the result.",
    )


QUESTIONS = (bytes_read, bytes_written, state, shared_memory, stuck, passes, rounded_where)


def mma_over_pytorch(record):
    mma, pytorch = record["forward"]["fp16"]["D = 64"]["mma"], record["pytorch"]["D = 64"]
    times = [of["milliseconds"][of["N"].index(4096)] for of in (mma, pytorch)]
    return times[0] / times[1]


PREDICTION = Prediction(
    "V1 on tensor cores, one head, N = 256 queries and keys, D = 64, K/V tiles of 64 keys, fp16, no mask, on the emulator, which "
    "counts.",
    (
        counted("bytes read through HBM", "wmma/N:256", "read_bytes"),
        counted("bytes written through HBM", "wmma/N:256", "written_bytes"),
        counted("memory in HBM beyond q, k, v and out", "wmma/N:256", "scratch_bytes"),
        recorded(
            "time of the given mma kernel over that of PyTorch's standard attention",
            "one H200, 128 heads, N = 4096, D = 64",
            "h200_tensor_cores",
            mma_over_pytorch,
        ),
    ),
)
