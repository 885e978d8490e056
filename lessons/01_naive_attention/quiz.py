"""What ./course quiz 01 and ./course predict 01 ask. CONTRIBUTING.md tells how to write this file."""

from course import draws, formulas, softmax_state
from course.prediction import Prediction, counted, ratio_of_times
from course.question import choice, count, number, numbers, span


def scratch(draw):
    N, heads = 128 * draw.randrange(2, 33), draw.choice((2, 4, 8, 12, 16, 32))
    return count(
        f"Standard attention, {heads} heads, N = {N} queries and keys, fp32. How many bytes do S and P take together?",
        formulas.standard_scratch(N, N).with_heads(heads),
        "S and P have N² elements each, for each head.",
    )


def scratch_against_operands(draw):
    N, D = 256 * draw.randrange(2, 33), draw.choice((32, 64, 128))
    return number(
        f"One head, N = {N}, D = {D}. How many times as large are S and P together as q, k, v and out together?",
        N / (2 * D),
        "2 N² elements against 4 N D: N / (2 D) times.",
        [f"{N} / (2 · {D}) = {N / (2 * D):g}"],
    )


def softmax(draw):
    scores = [draw.randrange(-2, 5) for _ in range(4)]
    state = softmax_state.of_tile(scores)
    first = softmax_state.weight(scores[0], state.m) / state.l
    return numbers(
        f"A row has the scores {', '.join(map(str, scores))}. Safe softmax: which m is subtracted, what is the sum l, and "
        "what is the weight p of the first score?",
        {"m": state.m, "l": state.l, "p": first},
        "m is the maximum, l the sum of e^(s − m), and p = e^(s − m) / l.",
        [
            f"l = {' + '.join(f'e^{score - state.m}' for score in scores)} = {state.l:.6g}",
            f"p = e^{scores[0] - state.m} / {state.l:.6g} = {first:.6g}",
        ],
    )


def keys_seen(draw):
    Nq, Nk = draw.randrange(3, 9), draw.randrange(3, 13)
    i = draw.randrange(Nq)
    seen = formulas.visible_keys(i, Nq, Nk)
    return span(
        f"A causal mask, Nq = {Nq} queries, Nk = {Nk} keys, both numbered from 0. Which keys does query {i} see?",
        range(seen),
        "Query i sees key j if j ≤ i + Nk − Nq: the last query sees all keys.",
        [f"{i} + {Nk} − {Nq} = {i + Nk - Nq}"],
    )


def flop(draw):
    N, D, heads = 128 * draw.randrange(2, 17), draw.choice((32, 64, 128)), draw.choice((1, 4, 8, 16))
    return count(
        f"The products of the forward pass, {draws.heads(heads)}, N = {N}, D = {D}, no mask. How many FLOP?",
        formulas.forward_flop(N, N, D).with_heads(heads),
        "Two products, each 2 N² D for a head: a multiplication and an addition are two FLOP.",
        "FLOP",
    )


def first_to_overflow(draw):
    largest = draw.choice((20, 60, 95, 120, 300))
    fails = largest > 88
    return choice(
        f"The largest score of a row is {largest}, in fp32. What happens without subtracting the maximum?",
        ("nothing, the weights are right", "some weight becomes NaN"),
        "some weight becomes NaN" if fails else "nothing, the weights are right",
        "e^89 is larger than the largest float, so it becomes inf, and inf / inf is NaN.",
        [f"{largest} is {'above' if fails else 'below'} 89."],
    )


QUESTIONS = (scratch, scratch_against_operands, softmax, keys_seen, flop, first_to_overflow)

PREDICTION = Prediction(
    "One head, N = 512 queries and keys, D = 64, fp32, no mask, on this CPU.",
    (
        counted(
            "working memory beyond q, k, v and out",
            "forward/N:512",
            "scratch_bytes",
            formulas.standard_scratch(512, 512),
        ),
        ratio_of_times("time at N = 1024 over time at N = 512", "forward/N:1024", over="forward/N:512"),
    ),
)
