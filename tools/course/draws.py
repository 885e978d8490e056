"""What several lessons draw for their questions."""

import random
from dataclasses import dataclass

TILES = (16, 24, 32, 40, 48, 64)  # multiples of 4 and 8; not all of them divide N


@dataclass(frozen=True)
class Drawn:
    N: int
    D: int
    Br: int
    Bc: int

    def __str__(self) -> str:
        tiles = f"tiles of {self.Br} × {self.Bc} (queries × keys)"
        return f"One head, N = {self.N}, D = {self.D}, {tiles}, fp32, no mask."


def head(draw: random.Random) -> Drawn:
    return Drawn(16 * draw.randrange(16, 129), draw.choice((32, 48, 64, 128)), draw.choice(TILES), draw.choice(TILES))


def heads(number: int) -> str:
    return "1 head" if number == 1 else f"{number} heads"
