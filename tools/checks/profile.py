"""`./course profile`: the emulator counts what the formula says, at a shape and tiles where nothing fits."""

from collections.abc import Iterator

from checks.common import ROOT, Result, call, tail

RUNS = (
    ("05", "--n", "127"),
    ("06", "--n", "127", "--br", "40", "--bc", "24"),
    ("07", "--n", "127", "--br", "32", "--bc", "48"),
    ("07", "--n", "127", "--br", "32", "--bc", "64", "--", "--mma"),
    ("10", "--n", "127", "--br", "24", "--bc", "40"),
    ("11", "--n", "127"),
)


def run() -> Iterator[Result]:
    for number, *shape in RUNS:
        for causal in ((), ("--causal",)):
            arguments = (number, *causal, *shape)
            ran = call(ROOT / "course", "profile", *arguments)
            said = "count equals the formula, to the byte" in ran.stdout
            yield Result(f"./course profile {' '.join(arguments)}", said and ran.returncode == 0, tail(ran.stdout))
