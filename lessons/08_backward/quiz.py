"""What ./course quiz 08 and ./course predict 08 ask. CONTRIBUTING.md tells how to write this file."""

from course import draws, formulas, softmax_state
from course.counting import Count, Term
from course.prediction import Prediction, counted, ratio_of_times
from course.question import choice, count, number, numbers


def drawn_row(draw):
    """Three weights that sum to 1, as tenths, and dP."""
    first = draw.randrange(1, 8)
    second = draw.randrange(1, 10 - first)
    return [first / 10, second / 10, (10 - first - second) / 10], draw.sample(range(-3, 7), 3)


def listed(numbers):
    return ", ".join(f"{one:g}" for one in numbers)


def products(numbers, factors):
    return " + ".join(f"{a:g} · {b:g}" for a, b in zip(numbers, factors, strict=True))


def dot(numbers, factors):
    return round(sum(a * b for a, b in zip(numbers, factors, strict=True)), 6)


def delta(draw):
    p, dp = drawn_row(draw)
    return number(
        f"A row has the weights P = {listed(p)} and dP = {listed(dp)}. What is delta?",
        dot(p, dp),
        "delta = the sum of P ∘ dP: the mean of dP, weighted by P.",
        [f"{products(p, dp)} = {dot(p, dp):.6g}"],
    )


def score_gradients(draw):
    p, dp = drawn_row(draw)
    mean = dot(p, dp)
    ds = [round(a * (b - mean), 6) for a, b in zip(p, dp, strict=True)]
    return numbers(
        f"A row has the weights P = {listed(p)} and dP = {listed(dp)}. What is dS?",
        {f"ds{at}": one for at, one in enumerate(ds)},
        "dS = P ∘ (dP − delta). A row of it sums to 0.",
        [f"delta = {mean:.6g}", *(f"{a:g} · ({b} − {mean:.6g}) = {c:.6g}" for a, b, c in zip(p, dp, ds, strict=True))],
    )


def delta_from_outputs(draw):
    out, dout = [draw.randrange(1, 9) / 2 for _ in range(3)], [draw.randrange(1, 5) for _ in range(3)]
    return number(
        f"A row has out = {listed(out)} and dout = {listed(dout)}. P and dP are gone. What is delta?",
        dot(out, dout),
        "delta is the dot product of dout and out: nobody needs P.",
        [f"{products(out, dout)} = {dot(out, dout):g}"],
    )


def jacobian(draw):
    p = softmax_state.softmax(draw.sample(range(0, 4), 3))
    p = [round(one, 3) for one in p]
    j, k = draw.randrange(3), draw.randrange(3)
    value = p[j] * ((j == k) - p[k])
    return number(
        f"The weights of a row are {listed(p)}, numbered from 0. How fast does weight {j} change with score {k} (∂p by ∂s)?",
        value,
        "p_j (1 − p_j) for its own score, −p_j p_k for another one.",
        [f"{p[j]:g} · (1 − {p[j]:g}) = {value:.6g}" if j == k else f"−{p[j]:g} · {p[k]:g} = {value:.6g}"],
    )


def flop(draw):
    N, D, heads = 128 * draw.randrange(2, 17), draw.choice((32, 64, 128)), draw.choice((1, 8, 16))
    forward = formulas.forward_flop(N, N, D).with_heads(heads)
    stored = formulas.backward_flop(N, N, D, stored=True).with_heads(heads)
    again = formulas.backward_flop(N, N, D, stored=False).with_heads(heads)
    counted = stored.beside("if Q Kᵀ is computed again; here P is stored", again)
    return count(
        f"The products of the backward pass with P stored, {draws.heads(heads)}, N = {N}, D = {D}, no mask. How "
        "many FLOP?",
        counted.beside("for the forward pass", forward),
        "Four products, each 2 N² D for a head: dV, dP, dQ, dK.",
        "FLOP",
    )


def scratch(draw):
    N, heads = 128 * draw.randrange(2, 33), draw.choice((1, 4, 8, 16))
    return count(
        f"P is kept from the forward pass. What else does this backward pass put into memory, beyond operands and gradients? "
        f"{draws.heads(heads)}, N = {N}, fp32. How many bytes?",
        formulas.backward_scratch(N, N).with_heads(heads),
        "dP and dS, N² each, and delta, one float for each query.",
    )


def gradient_step(draw):
    halvings = draw.choice((4, 8, 17, 30, 40))
    options = (
        "what the difference leaves out, which falls as h²",
        "neither: it is near the best step",
        "rounding of the losses, which grows as 1 / h",
    )
    return choice(
        f"Central differences in double, with a loss and its third derivative near 1 and h = 2^-{halvings}. Which error rules?",
        options,
        options[(halvings >= 17) + (halvings > 17)],
        "The best step is near 2^-17: above it the formula's error rules, below it rounding.",
    )


QUESTIONS = (delta, score_gradients, delta_from_outputs, jacobian, flop, scratch, gradient_step)

PREDICTION = Prediction(
    "One head, N = 512 queries and keys, D = 64, fp32, no mask, on this CPU.",
    (
        counted(
            "what the forward pass must keep, beyond out",
            "backward/N:512",
            "kept_bytes",
            Count((Term("P", (512, 512)),), {"N": 512}),
        ),
        counted(
            "working memory of the backward pass itself",
            "backward/N:512",
            "scratch_bytes",
            formulas.backward_scratch(512, 512),
        ),
        ratio_of_times(
            "time of the backward pass over that of the forward pass", "backward/N:512", over="forward/N:512"
        ),
    ),
)
