"""`./course demo`: how many bytes each algorithm moves through HBM, and how much memory it keeps."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from . import process, screen
from .build import Build
from .errors import NOT_RIGHT, RIGHT, USAGE, InternalError, UsageError
from .lessons import ROOT
from .parser import Parser

HOPPER_SRAM = 227 * 1024  # bytes that one thread block may use on Hopper
COUNTED_UP_TO = 4096 * 4096 * 128  # Nq · Nk · D that a CPU runs in a few seconds
MOST_SCORES, MOST_ELEMENTS = 1 << 24, 1 << 24  # of one head, so that a run takes little memory
LARGEST = 2**31 - 1
MOST_SRAM = 1 << 26  # bytes; far more than any chip has
LONGEST = 100_000_000  # queries or keys; the formulas go over them tile by tile
FIGURES = ROOT / ".course" / "figures"


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

    def flags(self) -> list[str]:
        named = {
            "--B": self.B,
            "--H": self.H,
            "--Nq": self.Nq,
            "--Nk": self.Nk,
            "--D": self.D,
            "--causal": int(self.causal),
        }
        named |= {"--sram": self.sram, "--element-bytes": self.element_bytes, "--count": int(self.is_counted())}
        return [str(part) for pair in named.items() for part in pair]

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


# The tiles that fit this SRAM are Br = Bc = 32: the numbers are those of lesson 04's text.
PROOF = Case("The formula is what the meter counts", 1, 1, 512, 512, 64, sram=37120, element_bytes=4)

MODELS = [
    Case("GPT-2 medium, training", 64, 16, 1024, 1024, 64),
    Case("A Llama-class layer", 1, 32, 4096, 4096, 128),
    Case("A Llama-class layer, twice the length", 1, 32, 8192, 8192, 128),
    Case("A Llama-class layer, a long document", 1, 32, 32768, 32768, 128),
]


def main(arguments: list[str]) -> int:
    cases, out = parse(arguments)
    start = time.monotonic()
    program = Build().program("demo_traffic")
    # Flags are judged by the program. Everything runs before anything is shown, so that bad ones get no half answer.
    proof = measure(program, PROOF)
    with screen.progress("counting bytes"):
        measured = [(case, measure(program, case)) for case in cases]

    right = show_proof(proof)
    for case, algorithms in measured:
        right = show_case(case, algorithms) and right
    explain()
    draw_figures(out)
    screen.note(f"this took {time.monotonic() - start:.0f} s")
    return RIGHT if right else NOT_RIGHT


def parse(arguments: list[str]) -> tuple[list[Case], Path]:
    parser = Parser(
        prog="./course demo",
        description="Runs standard attention, FlashAttention (V1) and FlashAttention-2's loop order (V2) on metered memory, "
        "and shows the bytes through HBM, the memory and the FLOPs of the forward pass, at shapes of real models or at the "
        "shape that the flags give. `./course demo invariant --help`: how the online softmax evolves.",
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
    parser.add_argument(
        "--out", default=str(FIGURES), metavar="DIR", help="where the figures go (default: .course/figures)"
    )
    flags = parser.parse_args(arguments)
    check_flags(flags)
    common = {"causal": flags.causal, "sram": flags.sram, "element_bytes": 2 if flags.dtype == "fp16" else 4}
    if all(value is None for value in (flags.B, flags.H, flags.N, flags.Nq, flags.Nk, flags.D)):
        return [replace(model, **common) for model in MODELS], Path(flags.out)

    def given(value: int | None, otherwise: int) -> int:
        return otherwise if value is None else value

    N = given(flags.N, 1024)
    shape = (given(flags.B, 1), given(flags.H, 1), given(flags.Nq, N), given(flags.Nk, N), given(flags.D, 64))
    return [Case("Your shape", *shape, **common)], Path(flags.out)


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


def measure(program: Path, case: Case) -> list[dict]:
    done = subprocess.run([str(program), *case.flags()], capture_output=True, text=True)
    if done.returncode == USAGE:
        raise UsageError(done.stderr.strip().removeprefix("demo_traffic: "))
    if done.returncode != 0:
        raise InternalError(
            f"demo_traffic ended with exit code {done.returncode}.", *done.stderr.strip().splitlines()[-5:]
        )
    return json.loads(done.stdout)["algorithms"]


def total(traffic: dict) -> int:
    return traffic["read_bytes"] + traffic["written_bytes"]


def agrees(algorithm: dict) -> bool | None:
    """Whether the counted bytes of one head are those of the formula; None if nothing was counted."""
    counted, formula = algorithm["counted"], algorithm["formula_one_head"]
    if counted is None:
        return None
    return all(counted[key] == formula[key] for key in ("read_bytes", "written_bytes"))


def show_proof(algorithms: list[dict]) -> bool:
    """V1, buffer by buffer, beside the formula; and whether all three algorithms agree with theirs."""
    screen.say((PROOF.title, "bold"))
    v1 = next(algorithm for algorithm in algorithms if algorithm["name"] == "V1")
    screen.say(f"FlashAttention (V1), {PROOF.describe()}, so Br = {v1['Br']}, Bc = {v1['Bc']}. Bytes:", indent=2)
    screen.code("")
    screen.code(f"  {'buffer':10}{'read':>14}{'written':>14}", "underline")
    for buffer, traffic in v1["counted"]["buffers"].items():
        screen.code(f"  {buffer:10}{traffic['read_bytes']:>14,}{traffic['written_bytes']:>14,}")
    screen.code(f"  {'counted':10}{v1['counted']['read_bytes']:>14,}{v1['counted']['written_bytes']:>14,}", "bold")
    formula = v1["formula_one_head"]
    screen.code(f"  {'formula':10}{formula['read_bytes']:>14,}{formula['written_bytes']:>14,}", "bold")
    screen.code("")
    counted = [algorithm for algorithm in algorithms if algorithm["counted"]]
    right = all(agrees(algorithm) for algorithm in counted)
    names = ", ".join(algorithm["name"] for algorithm in counted)
    if right:
        screen.say((f"{screen.mark('right')}For {names}: count and formula agree to the byte.", "bold green"), indent=2)
    else:
        screen.say((f"{screen.mark('wrong')}Count and formula do NOT agree for: {names}.", "bold red"), indent=2)
    return right


def show_case(case: Case, algorithms: list[dict]) -> bool:
    screen.code("")
    screen.say((case.title, "bold"))
    screen.say(case.describe(), indent=2)
    screen.code("")
    bar_width = max(6, min(24, screen.width() - 74))  # 80 columns are enough
    names = ("tiles", "read", "written", "total", "", "memory", "FLOP", "by")
    screen.code(row("", *names, bar_width).rstrip(), "underline")
    most = max(total(algorithm["formula"]) for algorithm in algorithms) or 1
    right = True
    for algorithm in algorithms:
        traffic, good = algorithm["formula"], agrees(algorithm)
        right = right and good is not False
        cells = (
            f"{algorithm['Br']}×{algorithm['Bc']}" if algorithm["Br"] else "",
            size(traffic["read_bytes"]),
            size(traffic["written_bytes"]),
            size(total(traffic)),
            "█" * round(bar_width * total(traffic) / most) or ("▏" if total(traffic) else ""),
            size(algorithm["scratch_bytes"]),
            size(algorithm["flops"], ""),
            {True: "count", False: "WRONG", None: "formula"}[good],
        )
        screen.code(row(algorithm["name"], *cells, bar_width), "" if good is not False else "bold red")
    by_name = {algorithm["name"]: total(algorithm["formula"]) for algorithm in algorithms}
    if by_name["V1"] and by_name["V2"]:
        v1, v2 = (by_name["standard"] / by_name[name] for name in ("V1", "V2"))
        screen.code("")
        screen.say(
            f"Standard attention moves {v1:.1f} times as many bytes as V1, and {v2:.1f} times as many as V2.", indent=2
        )
    return right


def row(name, tiles, read, written, sum_of_both, bar, memory, flop, by, bar_width) -> str:
    return f"  {name:14}{tiles:>8}{read:>8}{written:>9}{sum_of_both:>8} {bar:{bar_width}}{memory:>8}{flop:>7}  {by}"


def size(count: int, unit: str = "B") -> str:
    """Three digits and a decimal prefix: 4.7 GB."""
    value, prefix = float(count), ""
    for larger in ("k", "M", "G", "T", "P"):
        if value < 999.5:
            break
        value, prefix = value / 1000, larger
    digits = f"{value:.0f}" if not prefix or value >= 99.95 else f"{value:.1f}"
    return f"{digits} {prefix}{unit}".rstrip()


def explain() -> None:
    screen.code("")
    screen.say(("How to read this", "bold"))
    for line in (
        "by count: one head was run here, on metered memory; its count equals the formula, and all heads move the same.",
        "by formula: nothing was run, or it is too large to run here; the same formula, by itself.",
        "memory: what must be kept in HBM beyond Q, K, V and the output: S and P; m and l; the log-sum-exp.",
        "standard: three kernels that touch each operand once. least possible: each operand once, nothing in between.",
        "Bytes are what the algorithm asks HBM for, before any cache. Lesson 04 counts them with you.",
    ):
        screen.say("· " + line, indent=2)


def draw_figures(out: Path) -> None:
    log = ROOT / ".course" / "logs" / "figures.log"
    with screen.progress("drawing the figures"):
        code, output = process.stream([sys.executable, "plots/make.py", "--out", str(out.resolve())], ROOT, log)
    if code != 0:
        raise InternalError("The figures could not be drawn.", *output.strip().splitlines()[-5:])
    screen.code("")
    screen.say(f"The figures: {out if not out.is_relative_to(ROOT) else out.relative_to(ROOT)}", indent=2)
