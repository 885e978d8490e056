"""Puts what `./course profile NN --json FILE` recorded, shape by shape, into one file: data/h200_profile_NN.json.

    ./course profile 06 --json small.json               # on a machine with a GPU: formula, emulator, counters
    ./course profile 06 --large --json large.json       # the same beyond L2, where the emulator would take hours
    python plots/record_profile.py 06 small.json large.json [--out FILE]

Files of the same shape complete each other: the emulator may have counted on another machine than the GPU.
"""

import json
from pathlib import Path

import data
import script
from data import PlotError

MACHINE = ("lesson", "commit", "gpu", "driver", "cuda", "ncu")
METERS = ("emulator", "hardware")


def read(path: Path) -> dict:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        missing = [name for name in (*MACHINE, "implementation", "shape", "formula", *METERS) if name not in found]
    except (OSError, ValueError) as error:
        raise PlotError(f"cannot read {path}: {error}") from error
    if missing:
        raise PlotError(f"{path} lacks {', '.join(missing)}. Was it written by ./course profile --json?")
    if found["implementation"] != "solution":
        raise PlotError(f"{path} is of the {found['implementation']}: must be of the solution")
    return found


def agree(profiles: dict[Path, dict], name: str) -> object:
    """What all files say, apart from those that say nothing."""
    said = {path: one[name] for path, one in profiles.items() if one[name] is not None}
    first = next(iter(said.values()), None)
    for path, value in said.items():
        if value != first:
            raise PlotError(f"{path} has {name} = {value}, but another file has {first}")
    return first


def combined(lesson: str, profiles: dict[Path, dict]) -> dict:
    wrong = [path for path, one in profiles.items() if not one["lesson"].startswith(f"{lesson}_")]
    if wrong:
        raise PlotError(f"{wrong[0]} is of lesson {profiles[wrong[0]]['lesson']}, not {lesson}")
    shapes: dict[str, dict[Path, dict]] = {}
    for path, one in profiles.items():
        shapes.setdefault(json.dumps(one["shape"], sort_keys=True), {})[path] = one
    rows = [
        {"shape": json.loads(shape), **{name: agree(same, name) for name in ("formula", *METERS)}}
        for shape, same in shapes.items()
    ]
    for row in rows:
        if row["hardware"] is None:
            raise PlotError(f"no file has the GPU's counters for {row['shape']}")
        for meter in METERS:
            different = row[meter] and [name for name in row["formula"] if row[meter][name] != row["formula"][name]]
            if different:
                raise PlotError(f"{row['shape']}: the {meter}'s {different[0]} is not what the formula says")
    rows.sort(key=lambda row: sum(row["formula"].values()))
    return {**{name: agree(profiles, name) for name in MACHINE}, "profiles": rows}


def main() -> None:
    parser = script.parser("Records profiles of a lesson.")
    parser.add_argument("lesson", metavar="NN", choices=("05", "06"), help="05 or 06")
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help="written by ./course profile NN --json")
    parser.add_argument("--out", metavar="FILE", type=Path, help="default: plots/data/h200_profile_NN.json")
    given = parser.parse_args()
    found = combined(given.lesson, {path: read(path) for path in given.files})
    out = given.out or data.FOLDER / f"h200_profile_{given.lesson}.json"
    script.save(out, found)


if __name__ == "__main__":
    script.run(main)
