"""Makes the figures of the lessons from recorded counts: python plots/make.py. See plots/README.md."""

import argparse
import importlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import counts
import data
import script
from data import PlotError

FIGURES = Path(__file__).parent / "figures"
MATPLOTLIB = (
    "the Python package matplotlib is missing. ./course plot brings it along; tools/requirements.txt says which version"
)


def record(lessons: list[str], build: Path, times: bool) -> dict[str, dict]:
    """Counts afresh, the longest first, on all cores; times one after another. Nothing is written before all is there."""
    recorded = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for counted in pool.map(lambda lesson: counts.RECORD[lesson](build), sorted(lessons, reverse=True)):
            recorded |= counted
    for lesson in lessons:
        if times and lesson in counts.RECORD_OF_A_MACHINE:
            recorded |= counts.RECORD_OF_A_MACHINE[lesson](build)
    return recorded


def check(lessons: list[str], build: Path) -> int:
    """Compares what is counted now with what is recorded, to the byte. What differs from machine to machine is left out."""
    counted = record(lessons, build, times=False)
    wrong = [
        line for name, content in counted.items() for line in data.differences(data.load(name), content, f"{name}.json")
    ]
    for line in wrong[:20]:
        print(line)
    if wrong:
        print(
            f"{len(wrong)} recorded counts are not what is counted now. If that is right: python plots/make.py --record"
        )
        return 1
    print(f"{len(counted)} files of counts are what is counted now.")
    return 0


def draw(lessons: list[str], fresh: dict[str, dict], folder: Path, wanted: list[str]) -> None:
    """All figures of the lessons, or those that are wanted."""
    try:
        style = importlib.import_module("style")
    except ModuleNotFoundError as error:
        raise PlotError(MATPLOTLIB if error.name == "matplotlib" else str(error)) from error
    figures = {}
    for lesson in lessons:
        figures |= importlib.import_module(f"lesson_{lesson}").FIGURES
    for name in wanted:
        if name not in figures:
            raise PlotError(f"there is no figure {name}: must be one of {', '.join(figures)}")
    for name in wanted or figures:
        function, *sources = figures[name]
        try:
            made = function(*(fresh.get(source) or data.load(source) for source in sources))
        except KeyError as error:
            raise PlotError(f"cannot draw {name}: {' or '.join(sources)}.json in plots/data lacks {error}") from error
        path = folder / f"{name}.svg"
        data.save(path, style.svg(made))
        print(f"drawn: {path}", flush=True)


def arguments() -> argparse.Namespace:
    parser = script.parser("Makes the figures of the lessons from recorded counts.")
    parser.add_argument(
        "--lesson", metavar="NN", choices=sorted(counts.RECORD), help="one lesson, as 01 (default: all)"
    )
    parser.add_argument(
        "--figure", metavar="NAME", action="append", default=[], help="this figure, as 04_memory; may be given again"
    )
    parser.add_argument(
        "--build",
        metavar="DIR",
        type=Path,
        default=Path("build/cpu"),
        help="build folder with the programs that count (default: build/cpu)",
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--record", action="store_true", help="count afresh and record it in plots/data before drawing")
    action.add_argument(
        "--check",
        action="store_true",
        help="count afresh, compare with plots/data, draw nothing; exit code 1 if a count differs",
    )
    parser.add_argument(
        "--times",
        action="store_true",
        help="with --record: afresh too what differs from machine to machine: ratios of times, errors of rounding",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="write the figures and what --record counts into DIR; leave plots/ alone",
    )
    given = parser.parse_args()
    if given.times and not given.record:
        parser.error("--times needs --record")
    if given.out and given.check:
        parser.error("--check writes nothing, so it takes no --out")
    if given.figure and given.check:
        parser.error("--check draws nothing, so it takes no --figure")
    return given


def main() -> int:
    given = arguments()
    lessons = [given.lesson] if given.lesson else sorted(counts.RECORD)
    if given.check:
        return check(lessons, given.build)
    fresh = record(lessons, given.build, given.times) if given.record else {}
    for name, content in fresh.items():
        data.save((given.out or data.FOLDER) / f"{name}.json", data.text_of(content))
    draw(lessons, fresh, given.out or FIGURES, given.figure)
    return 0


if __name__ == "__main__":
    script.run(main)
