"""What ./course quiz 04 and ./course predict 04 ask. CONTRIBUTING.md tells how to write this file."""

from course import draws, formulas, softmax_state
from course.prediction import Prediction, counted
from course.question import choice, count, number, whole


def bytes_read(draw):
    shape = draws.head(draw)
    return count(
        f"V1, K/V tiles outside. {shape} How many bytes does it read through HBM?",
        formulas.v1_read(shape.N, shape.N, shape.D, shape.Bc),
        "k and v once; q, out, m and l once for each of the ⌈N / Bc⌉ K/V tiles.",
    )


def bytes_written(draw):
    shape = draws.head(draw)
    return count(
        f"V1, K/V tiles outside. {shape} How many bytes does it write through HBM?",
        formulas.v1_written(shape.N, shape.N, shape.D, shape.Bc),
        "out, m and l are filled once at the start, and written once for each of the ⌈N / Bc⌉ K/V tiles.",
    )


def keys_that_fit(draw):
    sram, D = 1024 * draw.choice((32, 48, 64, 99, 163, 227)), draw.choice((32, 64, 128))
    Bc = formulas.most_keys(sram, D)
    Br = min(Bc, D)
    return whole(
        f"SRAM of {sram:,} bytes, D = {D}, fp32, Br = min(Bc, D). What is the largest Bc with which a pair of tiles fits?",
        Bc,
        "4 · (2 Br D + 2 Bc D + Br Bc + 2 Br) must be at most the bytes of SRAM.",
        [
            f"Bc = {keys}: {formulas.tile_bytes(min(keys, D), keys, D).value():,} bytes with Br = {min(keys, D)}"
            for keys in (Bc, Bc + 1)
        ]
        + [f"so Bc = {Bc}, Br = {Br}"],
    )


def against_standard(draw):
    D = draw.choice((32, 64, 128))
    limit = (3 * D + 4) / 4
    Bc = draw.choice([keys for keys in (16, 24, 32, 40, 64, 80, 112, 128, 256) if abs(keys - limit) > 4])
    fewer = Bc > limit
    return choice(
        f"D = {D}, tiles of {Bc} keys, N very large, fp32. Which moves fewer bytes, V1 or standard attention with kernels "
        "that touch each operand once?",
        ("V1", "standard attention"),
        "V1" if fewer else "standard attention",
        "V1 moves fewer if N² (3 D + 4) / Bc < 4 N², so if Bc > (3 D + 4) / 4.",
        [f"(3 · {D} + 4) / 4 = {limit:g}, and Bc is {Bc}"],
    )


def ridge(draw):
    flop, moved = draw.choice((10, 20, 40, 80)) * 10**9, draw.choice((50, 80, 400, 900)) * 10**6
    intensity = flop / moved
    ridge = formulas.H200_RIDGE
    left = intensity < ridge
    return choice(
        f"A kernel does {flop // 10**9} GFLOP and moves {moved // 10**6} MB, on a machine that does {ridge} FLOP in the time "
        "of one byte. Where does it stand on the roofline?",
        ("left of the ridge: bytes hold it back", "right of the ridge: arithmetic holds it back"),
        "left of the ridge: bytes hold it back" if left else "right of the ridge: arithmetic holds it back",
        "Compare FLOP for each byte with those of the machine.",
        [f"{flop:,} / {moved:,} = {intensity:.4g} FLOP a byte, and the ridge is at {ridge}"],
    )


def normalized_update(draw):
    m, score = draw.randrange(0, 3), draw.randrange(0, 4)
    l, out, v = draw.randrange(11, 30) / 10, draw.randrange(1, 6), draw.randrange(1, 9)  # noqa: E741
    after = softmax_state.absorb(softmax_state.RowState(float(m), l, l * out), [score], [v])
    alpha, p = softmax_state.weight(m, after.m), softmax_state.weight(score, after.m)
    return number(
        f"V1 keeps a normalized output. A row has m = {m}, l = {l:g}, out = {out}. A tile brings one key with the score "
        f"{score} and the value {v}. What is the new out?",
        after.output(),
        "out' = (e^(m − m') l out + e^(s − m') v) / l'. The old out is multiplied by l, too.",
        [
            f"m' = {after.m:g}, l' = {alpha:.6g} · {l:g} + {p:.6g} = {after.l:.6g}",
            f"out' = ({alpha:.6g} · {l:g} · {out} + {p:.6g} · {v}) / {after.l:.6g} = {after.output():.6g}",
        ],
    )


QUESTIONS = (bytes_read, bytes_written, keys_that_fit, against_standard, ridge, normalized_update)

READ, WRITTEN = formulas.apart(formulas.v1_read(1024, 1024, 64, 259), formulas.v1_written(1024, 1024, 64, 259))

PREDICTION = Prediction(
    "V1, one head, N = 1024 queries and keys, D = 64, tiles of 64 × 259, fp32, no mask.",
    (
        counted("bytes read through HBM", "v1/N:1024", "read_bytes", READ),
        counted("bytes written through HBM", "v1/N:1024", "written_bytes", WRITTEN),
        counted("memory in HBM beyond q, k, v and out", "v1/N:1024", "scratch_bytes", formulas.v1_scratch(1024)),
        counted("SRAM of the tiles", "v1/N:1024", "sram_bytes", formulas.tile_bytes(64, 259, 64)),
    ),
)
