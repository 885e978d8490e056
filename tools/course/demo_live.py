"""`./course demo`, live: the kernels run on the emulator, launch by launch, and the bytes of each buffer count up.

What is shown is what the emulator's meter had counted after that launch. --pace may show it later than it happened,
never earlier.
"""

import time
from contextlib import closing, contextmanager
from pathlib import Path

from rich.live import Live
from rich.text import Text

from . import demo_program, demo_screen, screen
from .demo_kernels import BUFFERS, SHAPE, label
from .demo_screen import COLORS, line, size, total
from .errors import UsageError
from .parser import Parser

PACES = {"fast": 0.0, "slow": 60.0}  # seconds for all steps; fast: as the emulator counts
USUAL_PACE = 4.0
SLOWEST = 600.0
PLAIN_LINES = 4  # for each algorithm, where nothing can be drawn again


def add_flags(parser: Parser) -> None:
    """How to show it. --plain the runner has taken away already."""
    parser.add_argument(
        "--pace",
        metavar="SECONDS",
        help=f"how long the live part takes: seconds, slow ({PACES['slow']:g}), or fast, as quick as it runs (default: "
        f"{USUAL_PACE:g} on a terminal, else fast)",
    )
    parser.add_argument("--plain", action="store_true", help="lines in place of the live part; no colors, no signs")
    parser.add_argument("--json", action="store_true", help="print all that would be shown as one JSON document")


def pace(text: str | None, unseen: bool = False) -> float:
    """Seconds for the live part. Raises UsageError."""
    if text is None:
        return PACES["fast"] if screen.is_plain() or unseen else USUAL_PACE
    if text in PACES:
        return PACES[text]
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= SLOWEST:
        raise UsageError(f"--pace '{text}': must be slow, fast, or from 0 to {SLOWEST:g} seconds.")
    return seconds


def run(program: Path, seconds: float) -> tuple[list[dict], list[dict]]:
    """Runs and shows all algorithms. Returns the runs, and each step that was shown."""
    with closing(demo_program.follow(program, SHAPE | {"--steps": 1})) as answers:
        plan = next(answers)["plan"]
        order = [(run, number) for run, about in enumerate(plan) for number in range(about["steps"])]
        steps = []
        start = time.monotonic()
        with _display(plan) as show:
            for at, (run, number) in enumerate(order):
                steps.append({"run": run, "number": number} | next(answers))
                time.sleep(max(0.0, start + seconds * at / len(order) - time.monotonic()))
                show(steps)
            # The last one is looked at, too.
            time.sleep(max(0.0, start + seconds - time.monotonic()))
        (last,) = answers
    return last["runs"], steps


@contextmanager
def _display(plan: list[dict]):
    """Yields a function that shows the last of the steps."""
    if screen.is_plain():
        yield lambda steps: print_step(plan, steps[-1])
        return
    with Live(console=screen.console, transient=True, auto_refresh=False) as live:
        yield lambda steps: live.update(frame(plan, steps, demo_screen.width()), refresh=True)


def print_step(plan: list[dict], step: dict) -> None:
    """A line after each quarter of an algorithm's steps."""
    run, number = plan[step["run"]], step["number"] + 1
    shown = min(PLAIN_LINES, run["steps"])
    if number * shown // run["steps"] == (number - 1) * shown // run["steps"]:
        return
    read, written = (size(step["counted"][f"{way}_bytes"]) for way in ("read", "written"))
    line(f"  {label(run):11}{step['step']:26}{read:>9} read{written:>9} written")


def frame(plan: list[dict], steps: list[dict], width: int) -> Text:
    """The bytes of all algorithms so far, and those of the last one by buffer. What grew in the last step is bold."""
    last = steps[-1]
    lines = [*_totals(plan, steps, width), screen.text()]
    run = plan[last["run"]]
    color = COLORS[run["name"]]
    lines.append(screen.text("  ", (label(run), f"bold {color}"), f"  {last['step']}"))
    bar_width = max(4, min(24, (width - 29) // 2))
    lines.append(
        screen.text(
            "  ", (f"{'buffer':8}{'read':>8}{'':{bar_width + 2}}{'written':>8}{'':{bar_width + 1}}", "underline")
        )
    )
    before = steps[-2]["counted"]["buffers"] if last["number"] else {}
    # One scale for all of them: V1 writes the most to a single buffer, out.
    most = max([about["formula"]["written_bytes"] for about in plan] + [_most(step) for step in steps])
    for name in BUFFERS:
        row = last["counted"]["buffers"].get(name)
        cells = [(f"  {name:8}", "" if row else "dim")]
        for way in ("read_bytes", "written_bytes") if row else ():
            grew = row[way] > before.get(name, {}).get(way, 0)
            cells.append((f"{size(row[way]):>8} ", "bold" if grew else "dim"))
            cells.append((demo_screen.bar(row[way], most, bar_width) + " ", color))
        lines.append(screen.text(*cells))
    return Text("\n").join(lines)


def _totals(plan: list[dict], steps: list[dict], width: int) -> list[Text]:
    counted = {step["run"]: total(step["counted"]) for step in steps}  # the last step of each
    most = max(total(run["formula"]) for run in plan)
    bar_width = max(8, width - 28)
    rows = []
    for at, run in enumerate(plan):
        moved = counted.get(at)
        bar = demo_screen.bar(min(moved or 0, most), most, bar_width)
        text = f"  {label(run):13}{'' if moved is None else size(moved):>9} "
        rows.append(screen.text((text, "dim" if moved is None else ""), (bar, COLORS[run["name"]])))
    return rows


def _most(step: dict) -> int:
    return max(max(row["read_bytes"], row["written_bytes"]) for row in step["counted"]["buffers"].values())
