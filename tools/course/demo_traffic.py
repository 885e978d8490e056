"""`./course demo`: how many bytes each algorithm moves through HBM, and how much memory it keeps."""

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from . import demo_gpu, demo_kernels, demo_live, demo_program, demo_screen, process, screen
from .build import Build
from .demo_screen import COLORS, line, same_bytes, size, total
from .errors import NOT_RIGHT, RIGHT, InternalError, UsageError, not_writable
from .lessons import ROOT
from .parser import Parser

HOPPER_SRAM = 227 * 1024  # bytes that one thread block may use on Hopper
COUNTED_UP_TO = 4096 * 4096 * 128  # Nq · Nk · D that a CPU runs in a few seconds
MOST_SCORES, MOST_ELEMENTS = 1 << 24, 1 << 24  # of one head, so that a run takes little memory
LARGEST = 2**31 - 1
MOST_SRAM = 1 << 26  # bytes; far more than any chip has
LONGEST = 100_000_000  # queries or keys; the formulas go over them tile by tile
FIGURES = ROOT / ".course" / "figures"
# What is drawn, in this order; plots/make.py knows more.
SHOWN_FIGURES = {
    "headline": "bytes and memory against N",
    "04_traffic_n": "bytes against N, on logarithmic axes",
    "04_traffic_sram": "bytes against the size of SRAM",
    "06_tiles": "bytes and time against the size of a tile, on a GPU",
    "04_memory": "memory against N",
    "04_roofline": "what the bytes allow: the roofline",
    "tile_walk": "the order of the tiles, as ./course demo tiles walks",
}


@dataclass(frozen=True)
class Case:
    title: str
    B: int
    H: int
    Nq: int
    Nk: int
    D: int
    causal: bool = False
    sram: int = HOPPER_SRAM
    element_bytes: int = 2

    def flags(self) -> dict:
        shape = {"--B": self.B, "--H": self.H, "--Nq": self.Nq, "--Nk": self.Nk, "--D": self.D}
        memory = {"--sram": self.sram, "--element-bytes": self.element_bytes}
        return shape | {"--causal": int(self.causal)} | memory | {"--count": int(self.is_counted())}

    def is_counted(self) -> bool:
        """One head is run: its operands and S are small, and it takes seconds."""
        pairs, rows = self.Nq * self.Nk, max(self.Nq, self.Nk)
        return pairs * self.D <= COUNTED_UP_TO and pairs <= MOST_SCORES and rows * self.D <= MOST_ELEMENTS

    def describe(self) -> str:
        queries = f"N = {self.Nq}" if self.Nq == self.Nk else f"Nq = {self.Nq}, Nk = {self.Nk}"
        kind = "fp16" if self.element_bytes == 2 else "fp32"
        mask = ", causal" if self.causal else ""
        heads = "1 head" if self.H == 1 else f"{self.H} heads"
        return f"batch {self.B}, {heads}, {queries}, D = {self.D}, {kind}{mask}, {self.sram:,} bytes of SRAM"


MODELS = [
    Case("GPT-2 medium, training", 64, 16, 1024, 1024, 64),
    Case("A Llama-class layer", 1, 32, 4096, 4096, 128),
    Case("A Llama-class layer, twice the length", 1, 32, 8192, 8192, 128),
    Case("A Llama-class layer, a long document", 1, 32, 32768, 32768, 128),
]


def main(arguments: list[str]) -> int:
    cases, flags = parse(arguments)
    start = time.monotonic()
    make_folder(flags.out)
    traffic, kernels = demo_program.build(Build(), "demo_traffic", "demo_kernels")
    # Flags are judged by the program. That is quick, and comes before anything is shown: bad ones get no half answer.
    for case in cases:
        demo_program.ask(traffic, case.flags() | {"--count": 0})
    shown = {"cases": []}
    with silence(flags.json), ThreadPoolExecutor() as pool:
        measured = [pool.submit(demo_program.ask, traffic, case.flags()) for case in cases]
        demo_kernels.introduce()
        runs, steps = demo_live.run(kernels, flags.pace)
        shown["kernels"] = {"shape": demo_kernels.SHAPE, "steps": steps, "runs": runs}
        if screen.is_plain():  # a terminal has taken the live part away
            screen.code("")
        right = demo_kernels.show(runs)
        failure = demo_gpu.show(shown) if len(cases) > 1 else None  # not where a shape was asked for
        with screen.progress("counting bytes"):
            tables = [waiting.result()["algorithms"] for waiting in measured]
        for case, algorithms in zip(cases, tables, strict=True):
            shown["cases"].append(asdict(case) | {"algorithms": algorithms})
            right = show_case(case, algorithms) and right
        explain()
        shown["figures"] = draw_figures(flags.out)
        write(json_text(shown), flags.out / "demo.json")
    if flags.json:
        print(json_text(shown), end="")
    screen.note(f"this took {time.monotonic() - start:.0f} s")
    if failure:
        raise failure
    return RIGHT if right else NOT_RIGHT


@contextmanager
def silence(wanted: bool):
    """With --json, stdout holds one document and nothing else."""
    console, before = screen.console, screen.console.quiet
    console.quiet = before or wanted
    try:
        yield
    finally:
        console.quiet = before


def parse(arguments: list[str]) -> tuple[list[Case], argparse.Namespace]:
    parser = Parser(
        prog="./course demo",
        description="Runs the CUDA kernels of standard attention, FlashAttention (V1) and FlashAttention-2 (V2) on this "
        "CPU and counts their bytes through HBM, live, buffer by buffer. Without a shape of your own it times them on a "
        "GPU too, where a GPU and nvcc are. Then runs the same algorithms on metered memory, and shows bytes, memory and "
        "FLOPs of the forward pass at shapes of real models, or at your own. `./course demo tiles --help`: which tiles are "
        "read and written in which order. `./course demo invariant --help`: how the online softmax evolves.",
        epilog="example: ./course demo --N 2048 --D 128 --H 32 --causal",
    )
    for flag, meaning in {"--B": "batches", "--H": "heads", "--D": "columns of a head"}.items():
        parser.add_argument(flag, type=int, help=f"{meaning} (default: {1 if flag != '--D' else 64})")
    parser.add_argument("--N", type=int, help="queries and keys (default: 1024)")
    parser.add_argument("--Nq", type=int, help="queries, if they are not as many as the keys")
    parser.add_argument("--Nk", type=int, help="keys, if they are not as many as the queries")
    parser.add_argument("--causal", action="store_true", help="query i sees key j only if j <= i + Nk - Nq")
    parser.add_argument(
        "--sram",
        type=int,
        default=HOPPER_SRAM,
        metavar="BYTES",
        help="for the tiles of a thread block (default: %(default)s, on Hopper)",
    )
    parser.add_argument(
        "--dtype", choices=("fp16", "fp32"), default="fp16", help="of the matrices (default: %(default)s)"
    )
    demo_live.add_flags(parser)
    parser.add_argument(
        "--out",
        default=str(FIGURES),
        metavar="DIR",
        help="where the figures go, and demo.json with all that is shown (default: .course/figures)",
    )
    flags = parser.parse_args(arguments)
    check_flags(flags)
    flags.pace = demo_live.pace(flags.pace, flags.json)
    flags.out = Path(flags.out)
    common = {"causal": flags.causal, "sram": flags.sram, "element_bytes": 2 if flags.dtype == "fp16" else 4}
    if all(value is None for value in (flags.B, flags.H, flags.N, flags.Nq, flags.Nk, flags.D)):
        return [replace(model, **common) for model in MODELS], flags

    def given(value: int | None, otherwise: int) -> int:
        return otherwise if value is None else value

    N = given(flags.N, 1024)
    shape = (given(flags.B, 1), given(flags.H, 1), given(flags.Nq, N), given(flags.Nk, N), given(flags.D, 64))
    return [Case("Your shape", *shape, **common)], flags


def check_flags(flags) -> None:
    """Raises UsageError with the name of the flag, its value and what is allowed."""
    element_bytes = 2 if flags.dtype == "fp16" else 4
    least_sram = element_bytes * (4 * max(flags.D or 64, 1) + 3)  # one row of each tile, one score, m and l
    limits = {"B": (1, LARGEST), "H": (1, LARGEST), "D": (1, LARGEST), "N": (0, LONGEST), "Nq": (0, LONGEST)}
    limits |= {"Nk": (0, LONGEST), "sram": (least_sram, MOST_SRAM)}
    for name, (least, most) in limits.items():
        value = getattr(flags, name)
        if value is not None and not least <= value <= most:
            raise UsageError(f"--{name} {value}: must be from {least} to {most}.")
    if not flags.out:
        raise UsageError("--out '': must be a folder.")


def make_folder(path: Path) -> None:
    """Before anything runs, so that nobody waits for figures that cannot be kept. Raises CourseError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        if path == FIGURES:
            raise not_writable(".course/", error.strerror) from error
        reason = "it is a file" if path.is_file() else error.strerror
        raise UsageError(f"--out '{path}': must be a folder that can be written to: {reason}.") from error


def agrees(algorithm: dict) -> bool | None:
    """Whether the counted bytes of one head are those of the formula; None if nothing was counted."""
    counted = algorithm["counted"]
    return None if counted is None else same_bytes(counted, algorithm["formula_one_head"])


def show_case(case: Case, algorithms: list[dict]) -> bool:
    screen.code("")
    demo_screen.say((case.title, "bold"))
    demo_screen.say(case.describe(), indent=2)
    screen.code("")
    bar_width = max(6, min(24, demo_screen.width() - (44 if is_narrow() else 68)))
    left, right = sides("algorithm, tiles", "read", "written", "total", "memory", "FLOP", "by")
    line("  ", (f"{left}{'':{bar_width}}{right}", "underline"))
    most = max(total(algorithm["formula"]) for algorithm in algorithms)
    all_agree = True
    for algorithm in algorithms:
        name, traffic, good = algorithm["name"], algorithm["formula"], agrees(algorithm)
        all_agree = all_agree and good is not False
        left, right = sides(
            f"{name}, {algorithm['Br']}×{algorithm['Bc']}" if algorithm["Br"] else name,
            size(traffic["read_bytes"]),
            size(traffic["written_bytes"]),
            size(total(traffic)),
            size(algorithm["scratch_bytes"]),
            size(algorithm["flops"], ""),
            {True: "count", False: "WRONG", None: "formula"}[good],
        )
        style = "bold red" if good is False else ""
        line("  ", (left, style), (demo_screen.bar(total(traffic), most, bar_width), COLORS[name]), (right, style))
    by_name = {algorithm["name"]: total(algorithm["formula"]) for algorithm in algorithms}
    if by_name["V1"] and by_name["V2"]:
        v1, v2 = (by_name["standard"] / by_name[name] for name in ("V1", "V2"))
        screen.code("")
        demo_screen.say(
            f"Standard attention moves {v1:.1f} times the bytes of V1, {v2:.1f} times those of V2.", indent=2
        )
    return all_agree


def is_narrow() -> bool:
    return demo_screen.width() < 80


def sides(name, read, written, sum_of_both, memory, flop, by) -> tuple[str, str]:
    """A row of the table, left and right of its bar. A narrow terminal gets fewer columns."""
    apart, operations = ("", "") if is_narrow() else (f"{read:>8}{written:>9}", f"{flop:>7}")
    return f"{name:16}{apart}{sum_of_both:>8} ", f"{memory:>8}{operations}  {by}"


def explain() -> None:
    screen.code("")
    demo_screen.say(("How to read this", "bold"))
    for sentence in (
        "by count: one head was run here, on metered memory; its count equals the formula, and all heads move the same.",
        "by formula: nothing was run, or it is too large to run here; the same formula, by itself.",
        "memory: what must be kept in HBM beyond Q, K, V and the output: S and P; m and l; the log-sum-exp.",
        "standard, in these tables: ideal kernels that touch each operand once. Those of lesson 05 read most of them again.",
        "least possible: each operand once, nothing in between.",
        "Bytes are what the algorithm asks HBM for, before any cache. Lesson 04 counts them with you.",
    ):
        demo_screen.say("· " + sentence, indent=2)


def draw_figures(out: Path) -> list[str]:
    """Draws SHOWN_FIGURES, says what they are, and returns their names."""
    log = ROOT / ".course" / "logs" / "figures.log"
    wanted = [part for name in SHOWN_FIGURES for part in ("--figure", name)]
    with screen.progress("drawing the figures"):
        code, output = process.stream(
            [sys.executable, "plots/make.py", "--out", str(out.resolve()), *wanted], ROOT, log
        )
    if code != 0:
        raise InternalError("The figures could not be drawn.", *output.strip().splitlines()[-5:])
    screen.code("")
    where = out.relative_to(ROOT) if out.is_relative_to(ROOT) else out
    demo_screen.say((f"The figures: {where}", "bold"))
    for name, what in SHOWN_FIGURES.items():
        demo_screen.say(f"{name + '.svg':21}{what}", indent=2, hang=21)
    demo_screen.say("What comes next: ./course shows the lessons, and where you are.", indent=2)
    return [f"{name}.svg" for name in SHOWN_FIGURES]


def json_text(shown: dict) -> str:
    return json.dumps(shown, indent=2, ensure_ascii=False) + "\n"


def write(text: str, path: Path) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
