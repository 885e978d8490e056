"""The closed formulas of reference/fa/traffic.h and of the lessons, term by term, for ./course quiz and predict.

Of one head, without a mask, in fp32. Nq queries, Nk keys, D columns, tiles of Br queries and Bc keys.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

from .counting import Count, Slip, Term

LESSON_05_TILE = 32
# What a block may use, in bytes, and what a multiprocessor has for all of its blocks, which reserves some for each.
SHARED = {"a T4": 64 * 1024, "an RTX 40": 99 * 1024, "an A100": 163 * 1024, "an H200": 227 * 1024}
H200_SHARED_OF_ALL, RESERVED = 228 * 1024, 1024
H200_RIDGE = 185  # FLOP in the time of one byte: lesson 04
KV_TILE, Q_TILE = "K/V tile", "Q tile"


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def visible_keys(i: int, Nq: int, Nk: int) -> int:
    """How many keys query i sees under a causal mask. They are the first ones."""
    return max(0, min(Nk, i + Nk - Nq + 1))


def pairs_that_run(Nq: int, Nk: int, Br: int, Bc: int) -> int:
    """Of a Q tile and a K/V tile, under a causal mask: the last query of the Q tile says which keys it needs."""
    last_ones = (min(i + Br, Nq) - 1 for i in range(0, Nq, Br))
    return sum(ceil_div(visible_keys(i, Nq, Nk), Bc) for i in last_ones)


# Bytes through HBM.


def standard_read(Nq: int, Nk: int, D: int) -> Count:
    """By the kernels of lesson 05. Those that lesson 04 grants touch each operand once."""
    T = LESSON_05_TILE
    terms = (
        Term("q, for S", (Nq, D), ceil_div(Nk, T), "tile of keys"),
        Term("k, for S", (Nk, D), ceil_div(Nq, T), "tile of queries"),
        Term("S, twice", (2, Nq, Nk)),
        Term("P", (Nq, Nk), ceil_div(D, T), "tile of columns"),
        Term("v", (Nk, D), ceil_div(Nq, T), "tile of queries"),
    )
    return Count(terms, {"D": D, "N": Nq})


def standard_written(Nq: int, Nk: int, D: int) -> Count:
    return Count((Term("S", (Nq, Nk)), Term("P", (Nq, Nk)), Term("out", (Nq, D))), {"D": D, "N": Nq})


def v1_read(Nq: int, Nk: int, D: int, Bc: int) -> Count:
    def terms(Tc: int, rows: int = 2) -> tuple[Term, ...]:
        q_and_out = Term("q and out", (rows, Nq, D), Tc, KV_TILE)
        return Term("k and v", (2, Nk, D)), q_and_out, Term("m and l", (2, Nq), Tc, KV_TILE)

    Tc = ceil_div(Nk, Bc)
    without_out = Slip(Fraction(Count(terms(Tc, 1)).value()), "if out is never read: it comes back for each K/V tile")
    return Count(terms(Tc), {"D": D, "Tc": Tc, "N": Nq}, others=(without_out, *_rounded_down(Nk, Bc, terms)))


def v1_written(Nq: int, Nk: int, D: int, Bc: int) -> Count:
    def terms(Tc: int) -> tuple[Term, ...]:
        first = Term("the first fill of out, m and l", (Nq, D + 2))
        return first, Term("out", (Nq, D), Tc, KV_TILE), Term("m and l", (2, Nq), Tc, KV_TILE)

    Tc = ceil_div(Nk, Bc)
    return Count(terms(Tc), {"D": D, "Tc": Tc, "N": Nq}, others=_rounded_down(Nk, Bc, terms))


def v2_read(Nq: int, Nk: int, D: int, Br: int) -> Count:
    def terms(Tr: int) -> tuple[Term, ...]:
        return Term("q", (Nq, D)), Term("k and v", (2, Nk, D), Tr, Q_TILE)

    Tr = ceil_div(Nq, Br)
    return Count(terms(Tr), {"D": D, "Tr": Tr, "N": Nq}, others=_rounded_down(Nq, Br, terms))


def v2_written(Nq: int, D: int) -> Count:
    return Count((Term("out", (Nq, D)), Term("lse", (Nq,))), {"D": D, "N": Nq})


def v1_backward_read(Nq: int, Nk: int, D: int, Bc: int) -> Count:
    """Of lesson 09, where delta is computed anew from out for each K/V tile."""

    def terms(Tc: int) -> tuple[Term, ...]:
        rows = Term("q, out, dout and dq", (4, Nq, D), Tc, KV_TILE)
        return Term("k and v", (2, Nk, D)), rows, Term("m and l", (2, Nq), Tc, KV_TILE)

    Tc = ceil_div(Nk, Bc)
    return Count(terms(Tc), {"D": D, "Tc": Tc, "N": Nq}, others=_rounded_down(Nk, Bc, terms))


def v1_backward_written(Nq: int, Nk: int, D: int, Bc: int) -> Count:
    def terms(Tc: int) -> tuple[Term, ...]:
        return Term("dk and dv", (2, Nk, D)), Term("dq, set to 0", (Nq, D)), Term("dq", (Nq, D), Tc, KV_TILE)

    Tc = ceil_div(Nk, Bc)
    return Count(terms(Tc), {"D": D, "Tc": Tc, "N": Nq}, others=_rounded_down(Nk, Bc, terms))


def cuda_backward_read(Nq: int, Nk: int, D: int, Bc: int) -> Count:
    """Of lesson 10, where a kernel computes delta first."""

    def terms(Tc: int) -> tuple[Term, ...]:
        return (
            Term("out and dout, for delta", (2, Nq, D)),
            Term("k and v", (2, Nk, D)),
            Term("q, dout and dq", (3, Nq, D), Tc, KV_TILE),
            Term("m, l and delta", (3, Nq), Tc, KV_TILE),
        )

    Tc = ceil_div(Nk, Bc)
    return Count(terms(Tc), {"D": D, "Tc": Tc, "N": Nq}, others=_rounded_down(Nk, Bc, terms))


def cuda_backward_written(Nq: int, Nk: int, D: int, Bc: int) -> Count:
    def terms(Tc: int) -> tuple[Term, ...]:
        return (
            Term("delta", (Nq,)),
            Term("dq, set to 0", (Nq, D)),
            Term("dk and dv", (2, Nk, D)),
            Term("dq", (Nq, D), Tc, KV_TILE),
        )

    Tc = ceil_div(Nk, Bc)
    return Count(terms(Tc), {"D": D, "Tc": Tc, "N": Nq}, others=_rounded_down(Nk, Bc, terms))


def both(*counts: Count) -> Count:
    """One after the other."""
    terms = tuple(term for count in counts for term in count.terms)
    return replace(counts[0], terms=terms, others=())


def apart(read: Count, written: Count) -> tuple[Count, Count]:
    """Both, each with what comes out if it is taken for the other, or for the sum."""
    everything = both(read, written)
    return (
        read.beside("for what is written", written).beside("if what is written is counted, too", everything),
        written.beside("for what is read", read).beside("if what is read is counted, too", everything),
    )


def _rounded_down(N: int, tile: int, terms: Callable[[int], Iterable[Term]]) -> tuple[Slip, ...]:
    if N % tile == 0 or N < tile:
        return ()
    value = Count(tuple(terms(N // tile))).value()
    return (Slip(Fraction(value), f"if the last, partial tile is left out: {N} / {tile} must be rounded up"),)


# Working memory in HBM, beyond operands, out and gradients.


def standard_scratch(Nq: int, Nk: int) -> Count:
    return Count((Term("S", (Nq, Nk)), Term("P", (Nq, Nk))), {"N": Nq})


def v1_scratch(Nq: int) -> Count:
    return Count((Term("m", (Nq,)), Term("l", (Nq,))), {"N": Nq})


def v2_scratch(Nq: int) -> Count:
    return Count((Term("lse", (Nq,)),), {"N": Nq})


def backward_scratch(Nq: int, Nk: int) -> Count:
    return Count((Term("dP", (Nq, Nk)), Term("dS", (Nq, Nk)), Term("delta", (Nq,))), {"N": Nq})


def cuda_backward_scratch(Nq: int) -> Count:
    return Count((Term("m", (Nq,)), Term("l", (Nq,)), Term("delta", (Nq,))), {"N": Nq})


# FLOP: additions and multiplications of the products, each 2 D for a query and a key.


def forward_flop(Nq: int, Nk: int, D: int) -> Count:
    return _products(Nq, Nk, D, "S = QKᵀ", "out = PV")


def backward_flop(Nq: int, Nk: int, D: int, stored: bool) -> Count:
    again = () if stored else ("S = QKᵀ again",)
    return _products(Nq, Nk, D, *again, "dV = PᵀdO", "dP = dO Vᵀ", "dQ = dS K", "dK = dSᵀQ")


def _products(Nq: int, Nk: int, D: int, *names: str) -> Count:
    terms = tuple(Term(name, (2, Nq, Nk, D)) for name in names)
    half = sum(term.value() for term in terms) // 2
    slip = Slip(Fraction(half), "if a multiplication and its addition are one FLOP: they are two")
    return Count(terms, {"D": D, "N": Nq}, element_bytes=1, others=(slip,))


# What a pair of tiles takes in SRAM. Br and Bc must be multiples of 4 in the CUDA lessons: then no array is rounded up.


def tile_bytes(Br: int, Bc: int, D: int, backward: bool = False) -> Count:
    """Of lessons 03, 04 and 09."""
    ours, theirs = ("q, out, dout and dq", "k, v, dk and dv") if backward else ("q and out", "k and v")
    width = 4 if backward else 2
    terms = Term(ours, (width, Br, D)), Term(theirs, (width, Bc, D)), Term("scores", (Br, Bc)), Term("m and l", (2, Br))
    return Count(terms, {"D": D})


def most_keys(sram_bytes: int, D: int, backward: bool = False) -> int:
    """The largest Bc with which a pair of tiles fits, with Br = min(Bc, D)."""
    Bc = 0
    while tile_bytes(min(Bc + 1, D), Bc + 1, D, backward).value() <= sram_bytes:
        Bc += 1
    return Bc


def v1_shared(Br: int, Bc: int, D: int) -> Count:
    terms = (
        Term("q_tile", (Br, D + 1)),
        Term("k_tile and v_tile", (2, Bc, D + 1)),
        Term("s_tile", (Br, Bc + 1)),
        Term("m_tile, kept and per_l", (3, Br)),
    )
    padding = Slip(
        Fraction(4 * (Br * D + 2 * Bc * D + Br * Bc + 3 * Br)), "without the column of padding of each matrix"
    )
    return Count(terms, {"D": D}, others=(padding,))


def cuda_backward_shared(Br: int, Bc: int, D: int) -> Count:
    terms = (
        Term("q_tile and dout_tile", (2, Br, D)),
        Term("k_tile and v_tile", (2, Bc, D + 1)),
        Term("dk_tile and dv_tile", (2, Bc, D)),
        Term("p_tile and ds_tile", (2, Br, Bc)),
        Term("m_tile, l_tile and delta_tile", (3, Br)),
    )
    padding = Slip(
        Fraction(4 * (2 * Br * D + 4 * Bc * D + 2 * Br * Bc + 3 * Br)), "without the padding of k_tile and v_tile"
    )
    return Count(terms, {"D": D}, others=(padding,))


def v2_shared(D: int, Br: int = 64, Bc: int = 32) -> Count:
    """Of lesson 11, for D = 32, 64 or 128."""
    terms = Term("q_tile", (Br, D + 1)), Term("k_tile and v_tile", (2, Bc, D + 1)), Term("p_tile", (Br, Bc + 1))
    padding = Slip(Fraction(4 * (Br * D + 2 * Bc * D + Br * Bc)), "without the column of padding of each matrix")
    return Count(terms, {"D": D}, others=(padding,))
