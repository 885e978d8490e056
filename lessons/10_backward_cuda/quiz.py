"""What ./course quiz 10 and ./course predict 10 ask. CONTRIBUTING.md tells how to write this file."""

from course import draws, formulas
from course.prediction import Prediction, counted, recorded
from course.question import choice, count, span, whole


def bytes_read(draw):
    shape = draws.head(draw)
    lesson_09 = formulas.v1_backward_read(shape.N, shape.N, shape.D, shape.Bc)
    return count(
        f"{shape} One kernel computes delta, one the gradients. How many bytes do both read through HBM?",
        formulas.cuda_backward_read(shape.N, shape.N, shape.D, shape.Bc).beside(
            "by lesson 09, which computes delta for each K/V tile", lesson_09
        ),
        "out and dout once, for delta; k and v once; q, dout, dq, m, l and delta for each of the ⌈N / Bc⌉ K/V tiles.",
    )


def bytes_written(draw):
    shape = draws.head(draw)
    return count(
        f"{shape} One kernel computes delta and sets dq to 0, one computes the gradients. How many bytes do both write?",
        formulas.cuda_backward_written(shape.N, shape.N, shape.D, shape.Bc),
        "delta, dk and dv once; dq once to set it to 0, and once for each of the ⌈N / Bc⌉ K/V tiles.",
    )


def shared_memory(draw):
    Br, Bc, D = draw.choice((16, 32, 64)), draw.choice((16, 32, 64)), draw.choice((32, 64, 128))
    return count(
        f"Tiles of {Br} × {Bc} (queries × keys), D = {D}, fp32. How many bytes of shared memory does a block of the backward "
        "kernel take?",
        formulas.cuda_backward_shared(Br, Bc, D),
        "q and dout; k and v, with a column of padding; dk and dv; P and dS; three rows of Br.",
    )


def blocks_on_a_multiprocessor(draw):
    Br, Bc = draw.choice((16, 32, 64)), draw.choice((16, 32, 64))
    one = formulas.cuda_backward_shared(Br, Bc, 64).value()
    room = formulas.H200_SHARED_OF_ALL
    most = room // (one + formulas.RESERVED)
    return whole(
        f"A block takes {one:,} bytes of shared memory, and {formulas.RESERVED:,} more are reserved for it. A multiprocessor "
        f"has {room:,} in all. How many blocks run on it at a time, if nothing else limits them?",
        most,
        "As many as fit: rounded down.",
        [f"{room:,} / ({one:,} + {formulas.RESERVED:,}) = {room / (one + formulas.RESERVED):.3g}, so {most}"],
    )


def queries_that_see(draw):
    Nq, Nk = draw.randrange(4, 10), draw.randrange(4, 14)
    j = draw.randrange(Nk)
    first = max(0, j - (Nk - Nq))
    return span(
        f"A causal mask, Nq = {Nq} queries, Nk = {Nk} keys, both numbered from 0. Which queries see key {j}?",
        range(first, Nq),
        "Query i sees key j if i ≥ j − (Nk − Nq): the last queries do.",
        [f"{j} − ({Nk} − {Nq}) = {j - (Nk - Nq)}"],
    )


def training_flop(draw):
    N, heads = 128 * draw.randrange(2, 13), draw.choice((4, 16, 64))
    forward = formulas.forward_flop(N, N, 64).with_heads(heads)
    stored, again = (formulas.backward_flop(N, N, 64, stored=one).with_heads(heads) for one in (True, False))
    return count(
        f"The products of a training step of V1, {draws.heads(heads)}, N = {N}, D = 64, no mask. How many FLOP?",
        formulas.both(forward, again).beside("for the standard step, which keeps P", formulas.both(forward, stored)),
        "Two products forward, five backward, each 2 N² D for a head.",
        "FLOP",
    )


def who_adds_to_dq(draw):
    atomic = draw.choice((True, False))
    grid = "K/V tiles of a head are different blocks" if atomic else "a block has all K/V tiles of a head"
    options = (
        "plain += : one thread adds to an element, always in the same order",
        "atomic additions: the last bits may differ from run to run",
    )
    return choice(
        f"A grid in which {grid}. How is a tile's share added to dq in HBM?",
        options,
        options[atomic],
        "Two blocks that add to one element need atomic operations, and come in no fixed order.",
    )


QUESTIONS = (
    bytes_read,
    bytes_written,
    shared_memory,
    blocks_on_a_multiprocessor,
    queries_that_see,
    training_flop,
    who_adds_to_dq,
)

N, D, BC = 256, 64, 32
READ, WRITTEN = formulas.apart(
    formulas.both(formulas.v1_read(N, N, D, BC), formulas.cuda_backward_read(N, N, D, BC)),
    formulas.both(formulas.v1_written(N, N, D, BC), formulas.cuda_backward_written(N, N, D, BC)),
)

PREDICTION = Prediction(
    "A training step, V1 forward (lesson 06) and backward, one head, N = 256 queries and keys, D = 64, tiles of 32 × 32, "
    "fp32, no mask, on the emulator, which counts.",
    (
        counted("bytes read through HBM, both passes", "v1/N:256", "read_bytes", READ),
        counted("bytes written through HBM, both passes", "v1/N:256", "written_bytes", WRITTEN),
        counted(
            "memory in HBM beyond operands, out and gradients",
            "v1/N:256",
            "scratch_bytes",
            formulas.cuda_backward_scratch(N),
        ),
        recorded(
            "time of V1's step over that of the standard step",
            "one H200 at GPT-2 medium's training shape",
            "h200_backward",
            lambda record: record["V1"]["milliseconds"] / record["standard"]["milliseconds"],
        ),
    ),
)
