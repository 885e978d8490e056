"""What ./course quiz 02 and ./course predict 02 ask. CONTRIBUTING.md tells how to write this file."""

import math

from course.counting import Count, Term
from course.prediction import Prediction, counted
from course.question import count, number, numbers
from course.softmax_state import RowState, absorb, merge, of_tile, weight


def tile_of(draw, keys):
    """Scores and values that differ."""
    return draw.sample(range(-2, 6), keys), draw.sample(range(1, 10), keys)


def listed(numbers):
    return f"[{', '.join(map(str, numbers))}]"


def values_of(state):
    return {"m": state.m, "l": state.l, "u": state.u}


def after_the_tile(draw):
    scores, values = tile_of(draw, 3)
    state = of_tile(scores, values)
    return numbers(
        f"An empty state absorbs the tile of scores {listed(scores)} with the values {listed(values)}. m, l, u?",
        values_of(state),
        "m is the maximum, l the sum of e^(s − m), u the sum of e^(s − m) v.",
        [
            f"l = {' + '.join(f'e^{s - state.m}' for s in scores)}",
            f"u = {' + '.join(f'{v} · e^{s - state.m}' for s, v in zip(scores, values, strict=True))}",
        ],
    )


def after_two_tiles(draw):
    scores, values = tile_of(draw, 4)
    first = of_tile(scores[:2], values[:2])
    second = absorb(first, scores[2:], values[2:])
    return numbers(
        f"A state absorbs the scores {listed(scores[:2])} with the values {listed(values[:2])}, then {listed(scores[2:])} "
        f"with {listed(values[2:])}. m, l, u after both?",
        values_of(second),
        "m' = max(m, s); what was stored is multiplied by e^(m − m'); then the new terms are added.",
        [
            f"after the first tile: m = {first.m}, l = {first.l:.6g}, u = {first.u:.6g}",
            f"factor e^({first.m} − {second.m}) = {weight(first.m, second.m):.6g}",
            f"l' = {weight(first.m, second.m):.6g} · {first.l:.6g} + "
            + " + ".join(f"e^{s - second.m}" for s in scores[2:]),
            f"u' = {weight(first.m, second.m):.6g} · {first.u:.6g} + "
            + " + ".join(f"{v} · e^{s - second.m}" for s, v in zip(scores[2:], values[2:], strict=True)),
        ],
    )


def factor(draw):
    m, scores = draw.randrange(-1, 3), draw.sample(range(-2, 6), 2)
    moved = max(m, *scores)
    return number(
        f"A state has m = {m}. It absorbs the scores {listed(scores)}. By which factor is its old l multiplied?",
        weight(m, moved),
        "By e^(m − m'), which is 1 if the maximum stays.",
        [f"m' = max({m}, {scores[0]}, {scores[1]}) = {moved}, so e^({m} − {moved}) = {weight(m, moved):.6g}"],
    )


def merged(draw):
    one, other = (
        RowState(float(m), draw.randrange(11, 30) / 10, float(draw.randrange(2, 9)))
        for m in draw.sample(range(0, 4), 2)
    )
    both = merge(one, other)
    return numbers(
        f"Two workers hold (m, l, u) = ({one.m:g}, {one.l:g}, {one.u:g}) and ({other.m:g}, {other.l:g}, {other.u:g}). "
        "Merge them: m, l, u?",
        values_of(both),
        "Both move to the larger m, then l and u are added.",
        [
            f"factors e^({one.m:g} − {both.m:g}) = {weight(one.m, both.m):.6g} and "
            f"e^({other.m:g} − {both.m:g}) = {weight(other.m, both.m):.6g}"
        ],
    )


def merged_outputs(draw):
    states = [RowState(float(m), draw.randrange(11, 30) / 10, 0.0) for m in draw.sample(range(0, 3), 2)]
    outputs = draw.sample(range(1, 9), 2)
    one, other = (RowState(s.m, s.l, s.l * o) for s, o in zip(states, outputs, strict=True))
    both = merge(one, other)
    shares = [weight(s.m, both.m) * s.l / both.l for s in states]
    return number(
        f"Two parts of a row are finished: m = {one.m:g}, l = {one.l:g}, output {outputs[0]}; and m = {other.m:g}, "
        f"l = {other.l:g}, output {outputs[1]}. What is the output of the whole row?",
        both.output(),
        "An output weighs e^(m − m') l / l', with its own l, and the weights sum to 1.",
        [
            f"l' = {both.l:.6g}",
            f"{shares[0]:.6g} · {outputs[0]} + {shares[1]:.6g} · {outputs[1]} = {both.output():.6g}",
        ],
    )


def accesses(draw):
    N, online = 1000 * draw.randrange(2, 60), draw.choice((True, False))
    reads = Term("reads of the scores", (2 if online else 3, N))
    name = "Online softmax" if online else "Safe softmax"
    passes = "maximum and sum in one pass, then the division" if online else "maximum, sum, division"
    return count(
        f"{name} writes the weights of one row of {N:,} floats. It goes over HBM: {passes}. How many bytes does it read "
        "and write together?",
        Count((reads, Term("writes of the weights", (N,))), {"N": N}),
        "Each pass reads each score once, and each weight is written once: 4 accesses an element, online 3.",
    )


def log_sum_exp(draw):
    m, l = draw.randrange(-3, 200), draw.randrange(11, 60) / 10  # noqa: E741
    return number(
        f"A row has m = {m} and l = {l:g}. What is its log-sum-exp?",
        m + math.log(l),
        "m + ln l. In this form nothing overflows.",
        [f"{m} + ln {l:g} = {m + math.log(l):.6g}"],
    )


QUESTIONS = (after_the_tile, after_two_tiles, factor, merged, merged_outputs, accesses, log_sum_exp)

PREDICTION = Prediction(
    "Softmax of a row of 32,768 scores in HBM, fp32; and attention of one query over N = 4096 keys with D = 1.",
    (
        counted(
            "accesses of HBM for an element, safe softmax (reads and writes)",
            "safe_softmax/N:32768",
            "accesses",
            unit="",
        ),
        counted("accesses of HBM for an element, online softmax", "online_softmax/N:32768", "accesses", unit=""),
        counted(
            "working memory of one query's attention, all scores at once",
            "whole_row/N:4096",
            "scratch_bytes",
            Count((Term("scores", (4096,)),), {"N": 4096}),
        ),
        counted(
            "working memory of the same, absorbed in tiles of 64 keys",
            "tile_by_tile/N:4096",
            "scratch_bytes",
            Count((Term("scores of a tile", (64,)),), {"N": 4096, "N / 64": 64}),
        ),
    ),
)
