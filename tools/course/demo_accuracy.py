"""`./course demo accuracy`: the errors of lesson 07's kernels, beside those of standard attention in half precision."""

from . import demo_program, screen
from .build import Build
from .errors import NOT_RIGHT, RIGHT
from .parser import Parser

KERNELS = {"standard": "standard", "wmma": "V1, wmma", "mma": "V1, mma"}


def main(arguments: list[str]) -> int:
    Parser(
        prog="./course demo accuracy",
        description="Runs lesson 07's two kernels on the emulator, in both formats of half precision, on normal inputs and "
        "on inputs with outliers, and shows their errors against double precision beside those of standard attention in "
        "the same format. The exit code is 1 if one is more than twice as large, plus a floor.",
    ).parse_args(arguments)
    (program,) = demo_program.build(Build(), "demo_accuracy")
    return show(demo_program.ask(program, {}))


def show(answer: dict) -> int:
    screen.say(
        (f"Errors against double precision, {answer['heads']} heads, N = {answer['N']}: ", "bold"),
        "the largest, and the root mean square",
    )
    screen.code("")
    screen.code(
        (f"{'':31}" + "".join(f"{title:^20}" for title in KERNELS.values())).rstrip(),
    )
    screen.code(
        f"{'format':9}{'D':>4}  {'inputs':16}" + "".join(f"{'largest':>10}{'rms':>10}" for _ in KERNELS), "underline"
    )
    for row in answer["rows"]:
        inputs = row["inputs"] + (", causal" if row["causal"] else "")
        numbers = "".join(f"{float(row[kernel][which]):>10.1e}" for kernel in KERNELS for which in ("largest", "rms"))
        screen.code(f"{row['format']:9}{row['D']:>4}  {inputs:16}{numbers}")
    screen.code("")
    wrong = [row for row in answer["rows"] if not all(within(row, kernel) for kernel in ("wmma", "mma"))]
    if wrong:
        screen.say((f"{len(wrong)} of {len(answer['rows'])} rows have an error that is too large.", "bold red"))
        return NOT_RIGHT
    screen.say(("Each error of V1 is at most twice that of standard attention, plus a floor:", "bold green"))
    floors = {row["format"]: row["floor"] for row in answer["rows"]}
    screen.say(" and ".join(f"{floor:.1e} in {name}" for name, floor in floors.items()) + ", 1/64 of a rounding of 1.")
    return RIGHT


def within(row: dict, kernel: str) -> bool:
    """A NaN, which JSON has as a text, is not."""
    limits = {which: 2 * float(error) + row["floor"] for which, error in row["standard"].items()}
    return all(float(row[kernel][which]) <= limit for which, limit in limits.items())
