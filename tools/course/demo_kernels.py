"""`./course demo`, the kernels: what the emulator counted for those of lessons 05, 06 and 11."""

from . import demo_screen, screen
from .demo_screen import COLORS, line, same_bytes, size, total

SHAPE = {"--B": 1, "--H": 1, "--N": 512, "--D": 64}
OPERANDS = ("q", "k", "v", "out")
BUFFERS = ("q", "k", "v", "S", "P", "out", "m", "l", "lse")
SECTOR = 32  # bytes


def introduce() -> None:
    demo_screen.say(("CUDA kernels, run on this CPU, counted to the byte", "bold"))
    for sentence in (
        "HBM is a GPU's large memory; SRAM is small, beside its arithmetic units.",
        "Lesson 05, standard attention: S and P, N × N each, live in HBM.",
        "Lesson 06, FlashAttention (V1): they live in SRAM, one tile at a time.",
        "Lesson 11, FlashAttention-2 (V2): the output stays in registers, too.",
        "An emulator runs the .cu files that nvcc compiles for a GPU, and counts.",
    ):
        demo_screen.say(sentence, indent=2)
    screen.code("")
    demo_screen.say(f"1 head, N = {SHAPE['--N']}, D = {SHAPE['--D']}, fp32. Tiles: queries × keys.", indent=2)
    demo_screen.say("Bytes, as they are counted:", indent=2)
    screen.code("")


def show(runs: list[dict]) -> bool:
    """The first run of each algorithm buffer by buffer, all of them in a row; whether count and formula agree."""
    show_buffers(list({run["name"]: run for run in reversed(runs)}.values())[::-1])
    screen.code("")
    right = conclude(runs)
    screen.code("")
    show_totals(runs)
    return right


def show_buffers(runs: list[dict]) -> None:
    width = 11 if demo_screen.width() >= 12 + 22 * len(runs) else 8
    line(" " * 10, *((f"{label(run):>{2 * width}}", f"bold {COLORS[run['name']]}") for run in runs))
    line("  ", ("buffer  " + f"{'read':>{width}}{'written':>{width}}" * len(runs), "underline"))
    names = dict.fromkeys([*BUFFERS, *(name for run in runs for name in run["counted"]["buffers"])])
    for name in names:
        rows = [run["counted"]["buffers"].get(name) for run in runs]
        if any(rows):
            line(f"  {name:8}", *(cell for row in rows for cell in pair(row, width)))
    for title, key in (("counted", "counted"), ("formula", "formula")):
        line((f"  {title:8}", "bold"), *(cell for run in runs for cell in pair(run[key], width, "bold")))
    line("  sectors ", *(cell for run in runs for cell in pair(run["counted"], width, unit="sectors")))


def pair(row: dict | None, width: int, style: str = "", unit: str = "bytes") -> list[tuple[str, str]]:
    """What was read and what was written; blank for a buffer that the algorithm does not have. Where it is narrow, in
    three digits."""
    if row is None:
        return [(" " * 2 * width, "")]
    numbers = (row[f"read_{unit}"], row[f"written_{unit}"])
    texts = (f"{number:,}" if width > 8 else size(number, "B" if unit == "bytes" else "") for number in numbers)
    return [(f"{text:>{width}}", style if number else "dim") for text, number in zip(texts, numbers, strict=True)]


def conclude(runs: list[dict]) -> bool:
    """Says what holds, line by line."""
    wrong = [label(run) for run in runs if not same_bytes(run["counted"], run["formula"])]
    if wrong:
        demo_screen.found(f"Count and formula do NOT agree for: {'; '.join(wrong)}.", good=False)
    else:
        demo_screen.found("Count and formula agree to the byte.")
    used = {}
    for run in runs:
        share = total(run["counted"]) / sum(run["counted"][f"{way}_sectors"] for way in ("read", "written"))
        used[run["name"]] = min(share, used.get(run["name"], SECTOR))
    wasted = [f"{name}'s carried {share:.1f}" for name, share in used.items() if share < SECTOR]
    parts = ["were used whole"] * (len(wasted) < len(used)) + wasted
    demo_screen.found(f"Sectors, {SECTOR} bytes that move at once, {'; '.join(parts)}.")
    # The program ends with an error if one of these does not hold.
    demo_screen.found("The emulator found no race and no read of memory that nothing wrote.")
    rows = sum(run["checked_rows"] for run in runs)
    demo_screen.found(f"The outputs are right: {rows} of their rows, compared with double precision.")
    return not wrong


def show_totals(runs: list[dict]) -> None:
    width = max(8, min(28, demo_screen.width() - 46))
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
    fewer = {name: " and ".join(times_fewer(standard, run) for run in others if run["name"] == name) for name in COLORS}
    demo_screen.say(f"Larger tiles, fewer bytes: V1 moves {fewer['V1']} times fewer than standard.", indent=2)
    if fewer["V2"]:
        demo_screen.say(f"Loops exchanged, fewer still: V2 moves {fewer['V2']} times fewer.", indent=2)
    needs = (
        f"{' and '.join(size(run['shared_bytes']) for run in others if run['name'] == name)} with {name}"
        for name in dict.fromkeys(run["name"] for run in others)
    )
    demo_screen.say(f"Their price, SRAM of a block: {', '.join(needs)}.", indent=2)


def times_fewer(standard: dict, run: dict) -> str:
    return f"{total(standard['counted']) / total(run['counted']):.1f}"


def label(run: dict) -> str:
    return run["name"] if run["name"] == "standard" else f"{run['name']}, {tiles(run)}"


def tiles(run: dict) -> str:
    return f"{run['Br']}×{run['Bc']}"
