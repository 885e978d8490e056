"""Which tiles each algorithm reads and writes, in which order: the loops of lessons 05, 06 and 11, without arithmetic.

One head, N queries and as many keys, in float. Lesson 05 has tiles of 32 × 32 only; here its loops take any.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

FLOAT = 4  # bytes
OUT_COLUMNS = 32  # of out, for which lesson 05 reads P once
BUFFERS = {"standard": ("q", "k", "v", "S", "P", "out"), "V1": ("q", "k", "v", "out", "m", "l")}
BUFFERS["V2"] = ("q", "k", "v", "out", "lse")
LOOPS = {
    "standard": "three kernels, S and P in HBM",
    "V1": "K/V tiles outside, Q tiles inside",
    "V2": "Q tiles outside, K/V tiles inside",
}


@dataclass(frozen=True)
class Tiling:
    N: int
    Br: int
    Bc: int
    D: int = 64
    causal: bool = False

    def rows(self) -> range:
        """Tiles of queries."""
        return range(-(-self.N // self.Br))

    def columns(self) -> range:
        """Tiles of keys."""
        return range(-(-self.N // self.Bc))

    def queries(self, i: int) -> int:
        return min(self.Br, self.N - i * self.Br)

    def keys(self, j: int) -> int:
        return min(self.Bc, self.N - j * self.Bc)

    def seen(self, i: int, j: int) -> bool:
        """Whether some query of tile i sees some key of tile j: its last query sees the most."""
        return not self.causal or j * self.Bc < i * self.Br + self.queries(i)


@dataclass(frozen=True)
class Step:
    """`i` and `j`: the tiles of queries and of keys; None is all of them. Bytes by buffer."""

    doing: str
    i: int | None
    j: int | None
    reads: dict[str, int]
    writes: dict[str, int]


def walk(name: str, of: Tiling) -> list[Step]:
    return list({"standard": standard, "V1": v1, "V2": v2}[name](of))


def standard(of: Tiling) -> Iterator[Step]:
    """Masked tiles are computed and stored as all others, as in lesson 05."""
    row = of.D * FLOAT
    for i in of.rows():
        for j in of.columns():
            scores = of.queries(i) * of.keys(j) * FLOAT
            yield Step("S = QKᵀ", i, j, {"q": of.queries(i) * row, "k": of.keys(j) * row}, {"S": scores})
    for i in of.rows():
        scores = of.queries(i) * of.N * FLOAT
        yield Step("P = softmax(S)", i, None, {"S": 2 * scores}, {"P": scores})
    times = -(-of.D // OUT_COLUMNS)
    for i in of.rows():
        for j in of.columns():
            scores = of.queries(i) * of.keys(j) * FLOAT
            writes = {"out": of.queries(i) * row} if j == of.columns()[-1] else {}
            yield Step("out = PV", i, j, {"P": times * scores, "v": of.keys(j) * row}, writes)


def v1(of: Tiling) -> Iterator[Step]:
    row = of.D * FLOAT
    yield Step("out, m, l = 0, −∞, 0", None, None, {}, {"out": of.N * row, "m": of.N * FLOAT, "l": of.N * FLOAT})
    for j in of.columns():
        keys = {"k": of.keys(j) * row, "v": of.keys(j) * row}
        for i in of.rows():
            if not of.seen(i, j):
                continue
            queries = of.queries(i)
            state = {"out": queries * row, "m": queries * FLOAT, "l": queries * FLOAT}
            yield Step("absorb the tile", i, j, keys | {"q": queries * row} | state, state)
            keys = {}  # they stay in SRAM


def v2(of: Tiling) -> Iterator[Step]:
    row = of.D * FLOAT
    for i in of.rows():
        queries = {"q": of.queries(i) * row}
        columns = [j for j in of.columns() if of.seen(i, j)]
        for j in columns:
            result = {"out": of.queries(i) * row, "lse": of.queries(i) * FLOAT} if j == columns[-1] else {}
            yield Step("absorb the tile", i, j, queries | {"k": of.keys(j) * row, "v": of.keys(j) * row}, result)
            queries = {}  # it stays in SRAM, and m, l, u in registers


def totals(steps: list[Step]) -> dict[str, dict[str, int]]:
    """Bytes by buffer, in the words of the demo programs."""
    read, written = Counter(), Counter()
    for step in steps:
        read.update(step.reads)
        written.update(step.writes)
    names = read.keys() | written.keys()
    return {name: {"read_bytes": read[name], "written_bytes": written[name]} for name in names}
