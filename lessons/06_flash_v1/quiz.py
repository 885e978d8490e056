"""What ./course quiz 06 and ./course predict 06 ask. CONTRIBUTING.md tells how to write this file."""

from course import draws, formulas, softmax_state
from course.prediction import Prediction, counted, recorded
from course.question import choice, count, numbers, whole


def bytes_read(draw):
    shape = draws.head(draw)
    return count(
        f"{shape} How many bytes does V1 read through HBM?",
        formulas.v1_read(shape.N, shape.N, shape.D, shape.Bc),
        "k and v once; q, out, m and l once for each of the ⌈N / Bc⌉ K/V tiles.",
    )


def bytes_written(draw):
    shape = draws.head(draw)
    return count(
        f"{shape} How many bytes does V1 write through HBM?",
        formulas.v1_written(shape.N, shape.N, shape.D, shape.Bc),
        "out, m and l are filled once at the start, and written once for each of the ⌈N / Bc⌉ K/V tiles.",
    )


def shared_memory(draw):
    Br, Bc, D = draw.choice(draws.TILES), draw.choice(draws.TILES), draw.choice((32, 64, 128))
    return count(
        f"Tiles of {Br} × {Bc} (queries × keys), D = {D}, fp32. How many bytes of shared memory does a block of this lesson's "
        "kernel take?",
        formulas.v1_shared(Br, Bc, D),
        "Tiles of q, k, v and S, each with a column of padding, and three rows of Br. (Nothing has to be rounded up.)",
    )


def fits(draw):
    D, Br, Bc = draw.choice((64, 128)), draw.choice((32, 64, 128)), draw.choice((32, 64, 128))
    asked = formulas.v1_shared(Br, Bc, D).value()
    gpus = list(formulas.SHARED)
    first = next((gpu for gpu in gpus if formulas.SHARED[gpu] >= asked), "none of them")
    return choice(
        f"Tiles of {Br} × {Bc} (queries × keys), D = {D}, fp32. Which is the smallest of these GPUs on which V1's block fits?",
        [f"{gpu}, {formulas.SHARED[gpu]:,} bytes" if gpu in gpus else gpu for gpu in (*gpus, "none of them")],
        f"{first}, {formulas.SHARED[first]:,} bytes" if first in gpus else first,
        "The shared memory of the tiles must be at most that of a block.",
        formulas.v1_shared(Br, Bc, D).derivation(),
    )


def waves(draw):
    B, H, chips = draw.choice((1, 2, 4, 8, 16)), draw.choice((12, 16, 32, 40)), draw.choice((40, 80, 108, 132))
    blocks = B * H
    return numbers(
        f"{B} sequences of {H} heads, N = 4096. How many blocks has V1's grid, and how many waves are these on {chips} "
        "multiprocessors, if each runs one block at a time?",
        {"blocks": blocks, "waves": formulas.ceil_div(blocks, chips)},
        "A block for each head of each sequence, whatever N is; ⌈blocks / multiprocessors⌉ waves.",
        [f"{B} · {H} = {blocks}; ⌈{blocks} / {chips}⌉ = {formulas.ceil_div(blocks, chips)}"],
    )


def state_in_hbm(draw):
    scores, values = draw.sample(range(0, 5), 3), draw.sample(range(1, 10), 3)
    state = softmax_state.of_tile(scores[:2], values[:2])
    return numbers(
        f"A row has the scores {', '.join(map(str, scores))} and the values {', '.join(map(str, values))}, in tiles of two "
        "keys. What do m, l and out hold in HBM after the first K/V tile?",
        {"m": state.m, "l": state.l, "out": state.output()},
        "V1 keeps a normalized output: out = u / l, the attention over the keys that have passed.",
        [
            f"l = {' + '.join(f'e^{s - state.m}' for s in scores[:2])} = {state.l:.6g}",
            f"out = {state.u:.6g} / {state.l:.6g} = {state.output():.6g}",
        ],
    )


def pairs_of_tiles(draw):
    N, Br, Bc = 32 * draw.randrange(4, 17), draw.choice((16, 32, 64)), draw.choice((16, 32, 64))
    run = formulas.pairs_that_run(N, N, Br, Bc)
    every = formulas.ceil_div(N, Br) * formulas.ceil_div(N, Bc)
    return whole(
        f"A causal mask, N = {N}, tiles of {Br} × {Bc} (queries × keys). How many pairs of tiles does V1 not skip?",
        run,
        "A Q tile meets the K/V tiles of the keys that its last query sees.",
        [f"of {every} pairs, {run}: for the Q tile from i on, ⌈min(i + {Br}, {N}) / {Bc}⌉"],
    )


QUESTIONS = (bytes_read, bytes_written, shared_memory, fits, waves, state_in_hbm, pairs_of_tiles)


def v1_over_standard(record):
    times = {name: record["forward"]["D = 64"][name] for name in ("lesson 06", "lesson 05")}
    v1, standard = (of["milliseconds"][of["N"].index(4096)] for of in times.values())
    return v1 / standard


READ, WRITTEN = formulas.apart(formulas.v1_read(256, 256, 64, 32), formulas.v1_written(256, 256, 64, 32))

PREDICTION = Prediction(
    "V1, one head, N = 256 queries and keys, D = 64, tiles of 32 × 32, fp32, no mask, on the emulator, which counts.",
    (
        counted("bytes read through HBM", "v1/N:256", "read_bytes", READ),
        counted("bytes written through HBM", "v1/N:256", "written_bytes", WRITTEN),
        counted("memory in HBM beyond q, k, v and out", "v1/N:256", "scratch_bytes", formulas.v1_scratch(256)),
        recorded(
            "time of V1 over that of lesson 05",
            "one H200, 128 heads, N = 4096, D = 64",
            "h200_forward",
            v1_over_standard,
        ),
    ),
)
