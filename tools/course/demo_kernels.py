"""`./course demo`, the kernels: those of lessons 05 and 06 run on the emulator, and every byte is counted."""

from pathlib import Path

from . import demo_program, demo_screen, screen
from .demo_screen import COLORS, line, same_bytes, size, total

SHAPE = {"--B": 1, "--H": 1, "--N": 512, "--D": 64}
OPERANDS = ("q", "k", "v", "out")
BUFFERS = ("q", "k", "v", "S", "P", "out", "m", "l")
SECTOR = 32  # bytes


def count(program: Path) -> list[dict]:
    """Runs the kernels, with all checks of the emulator."""
    return demo_program.ask(program, SHAPE)["runs"]


def show(runs: list[dict]) -> bool:
    """Two of the runs buffer by buffer, all of them in a row; and whether count and formula agree."""
    screen.say(("CUDA kernels, run on this CPU, counted to the byte", "bold"))
    for sentence in (
        "HBM is a GPU's large memory; SRAM is small, beside its arithmetic units.",
        "Lesson 05, standard attention: S and P, N × N each, live in HBM.",
        "Lesson 06, FlashAttention (V1): they live in SRAM, one tile at a time.",
        "An emulator runs the .cu files that nvcc compiles for a GPU, and counts.",
    ):
        screen.say(sentence, indent=2)
    screen.code("")
    screen.say(f"1 head, N = {SHAPE['--N']}, D = {SHAPE['--D']}, fp32, tiles of {tiles(runs[0])}. Bytes:", indent=2)
    screen.code("")
    show_buffers(runs[:2])
    screen.code("")
    right = conclude(runs)
    screen.code("")
    show_totals(runs)
    return right


def show_buffers(runs: list[dict]) -> None:
    line(" " * 10, *((f"{run['name']:>24}", f"bold {COLORS[run['name']]}") for run in runs))
    line("  ", ("buffer  " + f"{'read':>12}{'written':>12}" * len(runs), "underline"))
    names = dict.fromkeys([*BUFFERS, *(name for run in runs for name in run["counted"]["buffers"])])
    for name in names:
        rows = [run["counted"]["buffers"].get(name) for run in runs]
        if any(rows):
            line(f"  {name:8}", *(cell for row in rows for cell in pair(row)))
    for title, key in (("counted", "counted"), ("formula", "formula")):
        line((f"  {title:8}", "bold"), *(cell for run in runs for cell in pair(run[key], "bold")))
    line("  sectors ", *(cell for run in runs for cell in pair(run["counted"], unit="sectors")))


def pair(row: dict | None, style: str = "", unit: str = "bytes") -> list[tuple[str, str]]:
    """What was read and what was written; blank for a buffer that the algorithm does not have."""
    if row is None:
        return [(" " * 24, "")]
    numbers = (row[f"read_{unit}"], row[f"written_{unit}"])
    return [(f"{number:>12,}", style if number else "dim") for number in numbers]


def conclude(runs: list[dict]) -> bool:
    """Says what holds, line by line."""
    wrong = [label(run) for run in runs if not same_bytes(run["counted"], run["formula"])]
    if wrong:
        demo_screen.found(f"Count and formula do NOT agree for: {'; '.join(wrong)}.", good=False)
    else:
        demo_screen.found("Count and formula agree to the byte.")
    sectors = sum(run["counted"][f"{way}_sectors"] for run in runs for way in ("read", "written"))
    asked = sum(total(run["counted"]) for run in runs)
    used = "were used whole" if asked == SECTOR * sectors else f"carried {asked / sectors:.1f} that were asked for"
    demo_screen.found(f"Sectors, the {SECTOR} bytes that a GPU moves at once, {used}.")
    # The program ends with an error if one of these does not hold.
    demo_screen.found("The emulator found no race and no read of memory that nothing wrote.")
    rows = sum(run["checked_rows"] for run in runs)
    demo_screen.found(f"The outputs are right: {rows} of their rows, compared with double precision.")
    return not wrong


def show_totals(runs: list[dict]) -> None:
    width = max(8, min(28, screen.width() - 46))
    most = max(total(run["counted"]) for run in runs)
    line("  ", (f"{'':15}{'bytes':>8} {'':{width}}{'memory':>9}{'':11}", "underline"))
    for run in runs:
        kept = [name for name in BUFFERS if name in run["counted"]["buffers"] and name not in OPERANDS]
        line(
            f"  {label(run):15}{size(total(run['counted'])):>8} ",
            (demo_screen.bar(total(run["counted"]), most, width), COLORS[run["name"]]),
            f"{size(run['scratch_bytes']):>9}  {' and '.join(kept)}",
        )
    screen.code("")
    standard, *others = runs
    fewer = " and ".join(f"{total(standard['counted']) / total(run['counted']):.1f}" for run in others)
    screen.say(f"Larger tiles, fewer bytes: {fewer} times fewer than standard attention.", indent=2)
    needs = (f"{size(run['shared_bytes'])} for {tiles(run)}" for run in others)
    screen.say(f"Their price is SRAM of a block: {', '.join(needs)}.", indent=2)


def label(run: dict) -> str:
    return run["name"] if run["name"] == "standard" else f"{run['name']}, {tiles(run)}"


def tiles(run: dict) -> str:
    return f"{run['Br']}×{run['Bc']}"
