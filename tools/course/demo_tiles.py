"""`./course demo tiles`: a walk over the tiles of Q and of K and V, as standard attention, V1 and V2 take it."""

import json
import textwrap
import time
from contextlib import contextmanager
from dataclasses import asdict

from rich.live import Live
from rich.text import Text

from . import demo_live, demo_screen, screen, tile_walk
from .demo_screen import COLORS, line, size
from .errors import RIGHT, UsageError
from .parser import Parser
from .tile_walk import BUFFERS, LOOPS, Step, Tiling

MOST_TILES = 12  # in each direction: what a terminal shows
GLUE = "\N{NO-BREAK SPACE}"
NOW, DONE, AHEAD, HIDDEN = "██", "░░", "··", "  "


def main(arguments: list[str]) -> int:
    tiling, seconds, as_json = parse(arguments)
    walks = {name: tile_walk.walk(name, tiling) for name in LOOPS}
    if as_json:
        print(json.dumps(document(tiling, walks), indent=2, ensure_ascii=False))
        return RIGHT
    introduce(tiling)
    total = sum(map(len, walks.values()))
    for name, steps in walks.items():
        with _display(name, tiling, steps) as show:
            for at in range(len(steps)):
                show(at)
                time.sleep(seconds / total)
    show_totals(tiling, {name: tile_walk.totals(steps) for name, steps in walks.items()})
    return RIGHT


def parse(arguments: list[str]) -> tuple[Tiling, float, bool]:
    parser = Parser(
        prog="./course demo tiles",
        description="Walks over the tiles of one head as standard attention (lesson 05), V1 (06) and V2 (11) do: which "
        "tiles are read from HBM and written to it, in which order, and how many bytes that makes by buffer.",
        epilog="example: ./course demo tiles --n 256 --br 32 --bc 64 --causal --pace slow",
    )
    for flag, meaning, default in (
        ("--n", "queries, and as many keys", 128),
        ("--br", "queries of a tile", 32),
        ("--bc", "keys of a tile", 32),
    ):
        parser.add_argument(flag, type=int, default=default, help=f"{meaning} (default: {default})")
    parser.add_argument("--causal", action="store_true", help="a query sees no later key; hidden tiles are left out")
    demo_live.add_flags(parser)
    flags = parser.parse_args(arguments)
    for name in ("n", "br", "bc"):
        if not 1 <= getattr(flags, name) <= 2**20:
            raise UsageError(f"--{name} {getattr(flags, name)}: must be from 1 to {2**20}.")
    tiling = Tiling(N=flags.n, Br=flags.br, Bc=flags.bc, causal=flags.causal)
    for name, count in (("br", len(tiling.rows())), ("bc", len(tiling.columns()))):
        if count > MOST_TILES:
            raise UsageError(
                f"--{name} {getattr(flags, name)}: {flags.n} rows are {count} tiles; "
                f"at most {MOST_TILES} tiles can be shown."
            )
    return tiling, demo_live.pace(flags.pace), flags.json


def document(tiling: Tiling, walks: dict[str, list[Step]]) -> dict:
    algorithms = [
        {"name": name, "loops": LOOPS[name], "buffers": tile_walk.totals(steps), "steps": list(map(asdict, steps))}
        for name, steps in walks.items()
    ]
    return asdict(tiling) | {"algorithms": algorithms}


def introduce(tiling: Tiling) -> None:
    mask = ", causal" if tiling.causal else ""
    demo_screen.say(("Which tiles cross between HBM and the chip, in which order", "bold"))
    demo_screen.say(f"1 head, N = {tiling.N}, D = {tiling.D}, fp32{mask}, tiles of {tiling.Br}×{tiling.Bc}.", indent=2)
    demo_screen.say("A row is a tile of queries, a column a tile of keys and values.", indent=2)
    if not screen.is_plain():
        demo_screen.say(f"{NOW} now  {DONE} done  {AHEAD} to come", indent=2)
    screen.code("")


@contextmanager
def _display(name: str, tiling: Tiling, steps: list[Step]):
    """Yields a function that shows the step with a number."""
    if screen.is_plain():
        line((f"{name}: {LOOPS[name]}", "bold"))
        yield lambda at: line(step_line(at, steps[at]))
        screen.code("")
        return
    with Live(console=screen.console, auto_refresh=False) as live:
        yield lambda at: live.update(frame(name, tiling, steps, at, demo_screen.width()), refresh=True)
    screen.code("")


def step_line(at: int, step: Step) -> str:
    tiles = ", ".join(f"{axis} {'all' if tile is None else tile}" for axis, tile in (("q", step.i), ("k", step.j)))
    reads, writes = (" ".join(part) or "nothing" for part in (step.reads, step.writes))
    return f"{at + 1:>5}  {tiles:12} {step.doing:21} reads {reads:16} writes {writes}"


def frame(name: str, tiling: Tiling, steps: list[Step], at: int, width: int) -> Text:
    """The grid of tiles on the left, the bytes by buffer on the right; what moves in this step is bold."""
    step, color = steps[at], COLORS[name]
    heading = screen.text("  ", (name, f"bold {color}"), f": {LOOPS[name]}")
    left, right = _grid(name, tiling, steps, at), _buffers(name, steps, at, width - 8 - 3 * len(tiling.columns()))
    lines = [heading, screen.text(f"  Step {at + 1} of {len(steps)}: {step.doing}")]
    blank = screen.text(" " * (5 + 3 * len(tiling.columns())))
    for row in range(max(len(left), len(right))):
        cells = left[row] if row < len(left) else blank
        lines.append(screen.text("  ", cells, " ", right[row] if row < len(right) else ""))
    return Text("\n").join(lines)


def _grid(name: str, tiling: Tiling, steps: list[Step], at: int) -> list[Text]:
    """Of the pass that the step belongs to: standard attention has three, each over all tiles."""
    color, step = COLORS[name], steps[at]
    done = {(i, j) for one in steps[:at] if one.doing == step.doing for i, j in _tiles(one, tiling)}
    now = set(_tiles(step, tiling))
    lines = [screen.text("     ", ("".join(f"{f'k{j}' if j < 10 else j:<3}" for j in tiling.columns()), "dim"))]
    for i in tiling.rows():
        cells = [(f"{f'q{i}':>4} ", "dim")]
        for j in tiling.columns():
            if (i, j) in now:
                cells.append((NOW + " ", f"bold {color}"))
            elif (i, j) in done:
                cells.append((DONE + " ", color))
            else:
                cells.append(((AHEAD if tiling.seen(i, j) or name == "standard" else HIDDEN) + " ", "dim"))
        lines.append(screen.text(*cells))
    return lines


def _tiles(step: Step, tiling: Tiling) -> list[tuple[int, int]]:
    rows = tiling.rows() if step.i is None else (step.i,)
    columns = tiling.columns() if step.j is None else (step.j,)
    return [(i, j) for i in rows for j in columns if step.i is not None or tiling.seen(i, j)]


def _buffers(name: str, steps: list[Step], at: int, width: int) -> list[Text]:
    moved, whole = tile_walk.totals(steps[: at + 1]), tile_walk.totals(steps)
    most = max(max(row.values()) for row in whole.values())
    bar_width = max(2, min(14, (width - 26) // 2))
    lines = [screen.text((f"{'':6}{'read':>8}{'':{bar_width + 2}}{'written':>8}", "dim"))]
    for buffer in BUFFERS[name]:
        cells = [(f"{buffer:6}", "")]
        for way, moves in (("read_bytes", steps[at].reads), ("written_bytes", steps[at].writes)):
            count = moved.get(buffer, {}).get(way, 0)
            cells.append((f"{size(count):>8} ", "bold" if buffer in moves else "dim"))
            cells.append((demo_screen.bar(count, most, bar_width) + " ", COLORS[name]))
        lines.append(screen.text(*cells))
    return lines


def show_totals(tiling: Tiling, totals: dict[str, dict]) -> None:
    """How often each buffer crosses, and the bytes."""
    line("  ", (f"{'':9}{'read':>9}{'written':>9}  average number of crossings", "underline"))
    for name, buffers in totals.items():
        read, written = (sum(row[f"{way}_bytes"] for row in buffers.values()) for way in ("read", "written"))
        start = screen.text((f"{name:9}", f"bold {COLORS[name]}"), f"{size(read):>9}{size(written):>9}  ")
        for way in ("read", "written"):
            times = (
                f"{buffer}{GLUE}{crossings(tiling, buffer, buffers[buffer][f'{way}_bytes'])}"
                for buffer in BUFFERS[name]
                if buffers[buffer][f"{way}_bytes"]
            )
            room = demo_screen.width() - 2 - len(start)
            for part in textwrap.wrap(f"{way}: {', '.join(times)}", room):
                line("  ", start, part.replace(GLUE, " "))
                start = " " * len(start)


def crossings(tiling: Tiling, buffer: str, moved: int) -> str:
    columns = {"S": tiling.N, "P": tiling.N, "m": 1, "l": 1, "lse": 1}.get(buffer, tiling.D)
    return f"{moved / (tiling.N * columns * tile_walk.FLOAT):.3g}×"
