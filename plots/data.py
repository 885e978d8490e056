"""Runs the programs that count, and keeps what they counted as small JSON files in plots/data.

A file holds tables; a table is a dict of columns, so that a change of one count is a change of one number:

    {"measured": "what and by what", "standard": {"N": [128, 256], "scratch_bytes": [131072, 524288]}}

Counts, bytes, ratios and errors only: no dates, no machine names, no times.
"""

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "data"

# How what a GPU measured is recorded, by the start of the file's name; all else is counted on any machine.
RECORDED_ON_A_GPU = {
    "roofs": "measure_roofs.py, on a GPU",
    "h200_forward": "record_gpu.py, on a GPU",
    "h200_backward": "record_backward.py, on a GPU",
    "h200_v2": "record_v2.py, on a GPU",
    "h200_tensor_cores": "record_tensor_cores.py, on a GPU",
    "h200_profile": "record_profile.py, from what ./course profile recorded on a GPU",
}

Table = dict[str, list[int]]


class PlotError(Exception):
    """What went wrong, in words for the reader; make.py prints it and exits with 1."""


def program(build: Path, name: str, *arguments: object) -> dict:
    """Runs <build>/bin/<name> and returns the JSON that it prints."""
    path = build / "bin" / name
    if not path.is_file():
        raise PlotError(f"{path} is missing. Build it: cmake --build {build} --target {name}")
    try:
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise PlotError(f"{path} cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        how = f"exit code {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"
        last = (done.stderr.strip().splitlines() or ["it printed no reason"])[-1]
        raise PlotError(f"{path} failed with {how}: {last}")
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError as error:
        raise PlotError(f"{path} printed something that is not JSON: {error}") from error


def benchmark(build: Path, number: str, *flags: str) -> dict:
    """All that bench_NN reports; an error inside a benchmark counts as a failure."""
    print(f"running: bench_{number}", flush=True)
    report = program(build, f"bench_{number}", "--benchmark_format=json", *flags)
    if not report.get("benchmarks"):
        raise PlotError(f"bench_{number} reported no benchmark")
    for row in report["benchmarks"]:
        if row.get("error_occurred"):
            raise PlotError(f"bench_{number}: {row['name']}: {row.get('error_message', 'an error without a message')}")
    return report


def counts(build: Path, number: str, names: str = "") -> list[dict]:
    """The rows of bench_NN whose names match, one short run each: counts do not depend on how long that takes."""
    return benchmark(build, number, f"--benchmark_filter={names}", "--benchmark_min_time=0.001")["benchmarks"]


def table(rows: list[dict], name: str, argument: str, *columns: str) -> Table:
    """The counters of the benchmark `name`, whose rows are called name/argument:value."""
    result: Table = {column: [] for column in (argument, *columns)}
    for row in rows:
        found = re.match(rf"{name}/{argument}:(\d+)(/|$)", row["name"])
        if not found:
            continue
        result[argument].append(int(found[1]))
        for column in columns:
            if column not in row:
                raise PlotError(f"the benchmark {row['name']} has no counter {column}")
            result[column].append(whole(row[column], f"{column} of {row['name']}"))
    if not result[argument]:
        raise PlotError(f"no benchmark is called {name}/{argument}:...")
    return result


def whole(value: float, what: str) -> int:
    """Counters are doubles; a count that is not whole was counted wrongly."""
    if value != int(value):
        raise PlotError(f"{what} is {value}, which is not a whole number")
    return int(value)


def forward_formulas(build: Path, shape: dict[str, int], element_bytes: int) -> dict[str, dict]:
    """What the closed formulas say for one head of N queries and keys, by algorithm."""
    N, D, sram = shape["N"], shape["D"], shape["sram"]
    flags = ("--Nq", N, "--Nk", N, "--D", D, "--sram", sram, "--element-bytes", element_bytes)
    return {row["name"]: row for row in program(build, "demo_traffic", *flags)["algorithms"]}


def bytes_by_formula(row: dict) -> int:
    return row["formula"]["read_bytes"] + row["formula"]["written_bytes"]


def save(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    except OSError as error:
        with contextlib.suppress(OSError):  # the message below says more
            partial.unlink()
        raise PlotError(f"cannot write {path}: {error.strerror}") from error


def text_of(content: dict) -> str:
    """JSON with sorted keys and a list a line."""
    indented = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)
    return (
        re.sub(
            r"\[[^\[\]]*\]", lambda found: " ".join(found[0].split()).replace("[ ", "[").replace(" ]", "]"), indented
        )
        + "\n"
    )


def load(name: str, folder: Path = FOLDER) -> dict:
    path = folder / f"{name}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"it is not JSON: {error}"
        how = next((how for start, how in RECORDED_ON_A_GPU.items() if name.startswith(start)), "make.py --record")
        raise PlotError(f"cannot read {path}: {reason}. To record it: python plots/{how}") from error


def differences(recorded: object, counted: object, where: str, rows: list[str] | None = None) -> Iterator[str]:
    """Each place where two contents differ, in words. `rows` names the rows of the table that a column belongs to."""
    if isinstance(recorded, dict) and isinstance(counted, dict):
        argument = next((name for name in ("N", "sram") if name in recorded), None)
        rows = [f"{argument} = {value}" for value in recorded[argument]] if argument else None
        for key in sorted(recorded.keys() | counted.keys()):
            yield from differences(recorded.get(key), counted.get(key), f"{where}: {key}", rows)
    elif (
        isinstance(recorded, list) and isinstance(counted, list) and rows and len(rows) == len(recorded) == len(counted)
    ):
        for row, old, new in zip(rows, recorded, counted, strict=True):
            yield from differences(old, new, f"{where} at {row}")
    elif recorded != counted:
        yield f"{where}: recorded {recorded}, counted {counted}"
