"""What the scripts of this folder share: how they are called, and how they end."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import data


def name() -> str:
    return f"plots/{Path(sys.argv[0]).name}"


def parser(description: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=name(), description=description)


def recorder(description: str, record: str, build: bool = True) -> argparse.ArgumentParser:
    """Of a script that measures on a GPU, with the programs of a build folder if it needs some, and writes data/RECORD."""
    made = parser(description)
    made.add_argument("--commit", required=True, help="of the repository, to be recorded")
    if build:
        made.add_argument("--build", metavar="DIR", type=Path, default=Path("build/cuda"), help="default: build/cuda")
    made.add_argument(
        "--out", metavar="FILE", type=Path, default=data.FOLDER / record, help=f"default: plots/data/{record}"
    )
    return made


def save(out: Path, found: dict) -> None:
    data.save(out, data.text_of(found))
    print(f"recorded: {out}")


def run(main: Callable[[], int | None]) -> None:
    """Ends the program with what main returns; with a message and 1 after a PlotError; with 130 after Ctrl-C."""
    try:
        sys.exit(main())
    except data.PlotError as error:
        print(f"{name()}: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
