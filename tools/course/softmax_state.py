"""The online softmax of lesson 02 in Python, for the questions of ./course quiz: the state (m, l, u) of a row."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class RowState:
    m: float = -math.inf
    l: float = 0.0  # noqa: E741, the name that the lessons use
    u: float = 0.0

    def output(self) -> float:
        return self.u / self.l

    def log_sum_exp(self) -> float:
        return self.m + math.log(self.l)


def weight(score: float, m: float) -> float:
    return 0.0 if score == -math.inf else math.exp(score - m)


def absorb(state: RowState, scores: Sequence[float], values: Sequence[float] = ()) -> RowState:
    return merge(state, of_tile(scores, values))


def of_tile(scores: Sequence[float], values: Sequence[float] = ()) -> RowState:
    m = max(scores)
    weights = [weight(score, m) for score in scores]
    return RowState(m, sum(weights), sum(p * v for p, v in zip(weights, values, strict=False)))


def merge(one: RowState, other: RowState) -> RowState:
    m = max(one.m, other.m)
    a, b = weight(one.m, m), weight(other.m, m)
    return RowState(m, a * one.l + b * other.l, a * one.u + b * other.u)


def softmax(scores: Sequence[float]) -> list[float]:
    state = of_tile(scores)
    return [weight(score, state.m) / state.l for score in scores]
