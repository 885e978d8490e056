"""Google Benchmark's results as a table that fits the terminal: a block for each benchmark, a row for each size."""

import re

from . import demo_screen, screen

# What a name holds beyond the benchmark and its arguments: how it was run.
_HOW = re.compile(r"/(?:iterations|repeats|min_time|min_warmup_time|process_time|real_time|manual_time)\b[^/]*")
_SAME_FOR_ALL = ("peak_flops_per_second", "operand_bytes", "l2_bytes")
_FORMULAS = {"formula_read_bytes": "read_bytes", "formula_written_bytes": "written_bytes"}
_SECTORS = ("read_sectors", "written_sectors")
# The others in this order; those that do not fit the terminal are left out, from the end.
_RATES = ("flops", "flops_per_second", "peak_share")
_FIRST = ("accesses", *_RATES, "hbm_bytes", "read_bytes", "written_bytes", "scratch_bytes")
_TILES = ("Br", "Bc")
_LAST = ("sram_bytes", "shared_bytes", "tiles")
_OWN = {  # keys of a run that are no counters
    *("name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index"),
    *("threads", "iterations", "real_time", "cpu_time", "time_unit", "aggregate_name", "aggregate_unit", "label"),
    *("error_occurred", "error_message", "skipped", "skip_message"),
}
_FACTORS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def plain_name(name: str) -> str:
    """The benchmark and its arguments: v1/N:256."""
    return _HOW.sub("", name)


def show(runs: list[dict]) -> None:
    """`runs`: the entries of "benchmarks" in Google Benchmark's JSON."""
    rows = _chosen(runs)
    exact = _table(rows, lambda count: f"{count:,.0f}")
    short = _table(rows, lambda count: demo_screen.size(count, ""))
    # Exact numbers, unless they push out more than the tiles.
    heads, *lines = _cut(exact if set(exact[0]) - set(_cut(exact)[0]) <= set(_LAST) else short)
    widths = [max(len(line[at]) for line in [*_two_lines(heads), *lines]) for at in range(len(heads))]
    for head in _two_lines(heads):
        screen.code(_line(head, widths))
    family = None
    for row, line in zip(rows, lines, strict=True):
        if row["family"] != family:
            family = row["family"]
            screen.code(family, "bold")
        failure = row["run"].get("error_message") or row["run"].get("skip_message")
        screen.code(f"  {row['arguments']}  {failure}" if failure else _line(line, widths))
    for name in _SAME_FOR_ALL:
        values = {row["run"][name] for row in rows if name in row["run"]}
        if len(values) == 1:
            screen.say(f"{name.replace('_', ' ')}: {values.pop():,.0f}")


def _chosen(runs: list[dict]) -> list[dict]:
    """Of repetitions the median, with their spread; else each run."""
    spread = {run["run_name"]: run for run in runs if run.get("aggregate_name") == "cv"}
    rows = []
    for run in runs:
        name = run.get("run_name", run["name"])
        if run.get("aggregate_name") == "median" or name not in spread and run.get("run_type") != "aggregate":
            family, _, arguments = plain_name(name).partition("/")
            rows.append({"family": family, "arguments": arguments, "run": run, "spread": spread.get(name)})
    for family in {row["family"] for row in rows}:
        _name_what_is_common([row for row in rows if row["family"] == family])
    return rows


def _name_what_is_common(rows: list[dict]) -> None:
    """The arguments with which all rows of a benchmark begin go to its name: v1_tiles/N:256, and a row for each Br and Bc."""
    parts = [row["arguments"].split("/") for row in rows]
    common = 0
    while len(rows) > 1 and all(len(one) > common + 1 and one[common] == parts[0][common] for one in parts):
        common += 1
    for row, one in zip(rows, parts, strict=True):
        row["family"] = "/".join([row["family"], *one[:common]])
        row["arguments"] = "/".join(one[common:])


def _table(rows: list[dict], count) -> list[list[str]]:
    """Cells, a line for the heads first. `count` writes a number of bytes or the like."""
    runs = [_with_tiles(row["run"]) for row in rows]
    present = list(dict.fromkeys(name for run in runs for name in run if name not in _OWN))
    if "flops_per_second" in present:
        present = [name for name in present if name != "flops"]  # a number here, and no rate as elsewhere
    hidden = {*_SAME_FOR_ALL, *_FORMULAS, *_SECTORS, *_TILES, *_FIRST, *_LAST}
    others = [name for name in present if name not in hidden]
    columns = {"": [f"  {row['arguments']}" for row in rows], "time": [_time(run) for run in runs]}
    if any(row["spread"] for row in rows):
        columns["spread"] = [f"{row['spread']['real_time']:.1%}" if row["spread"] else "" for row in rows]
    for name in [*(one for one in _FIRST if one in present), *others]:
        columns[_head(name)] = [_value(name, run[name], count) if name in run else "" for run in runs]
    if set(_FORMULAS) <= set(present):
        columns["as by_formula"] = [_formula(run) for run in runs]
    if set(_SECTORS) <= set(present):
        columns["sectors_used"] = [_sectors(run) for run in runs]
    for name in (one for one in _LAST if one in present):
        columns[name] = [_value(name, run[name], count) if name in run else "" for run in runs]
    return [list(columns), *(list(cells) for cells in zip(*columns.values(), strict=True))]


def _with_tiles(run: dict) -> dict:
    return {**run, "tiles": "×".join(f"{run[name]:.0f}" for name in _TILES)} if set(_TILES) <= set(run) else run


def _cut(table: list[list[str]]) -> list[list[str]]:
    """The columns that fit."""
    heads, *lines = table
    room = screen.width()
    kept = 0
    for at in range(len(heads)):
        room -= max(len(line[at]) for line in [*_two_lines(heads), *lines]) + 2 * (at > 0)
        if room < 0:
            break
        kept = at + 1
    return [line[: max(kept, 2)] for line in table]


def _two_lines(heads: list[str]) -> list[list[str]]:
    """scratch_bytes stands in two lines, so that columns are narrow."""
    parts = [head.partition("_") for head in heads]
    return [[first if rest else "" for first, _, rest in parts], [rest or first for first, _, rest in parts]]


def _line(cells: list[str], widths: list[int]) -> str:
    first, *others = (f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
    return "  ".join([f"{cells[0]:{widths[0]}}", *others]).rstrip()


def _head(name: str) -> str:
    return {"flops": "FLOP/s", "flops_per_second": "FLOP/s", "peak_share": "of_peak"}.get(name, name)


def _value(name: str, value: float | str, count) -> str:
    if isinstance(value, str):
        return value
    if name in ("flops", "flops_per_second"):
        return demo_screen.size(value, "")
    if name == "peak_share":
        return f"{value:.1%}"
    return count(value) if value % 1 == 0 else f"{value:.4g}"


def _time(run: dict) -> str:
    seconds = run.get("real_time", 0.0) * _FACTORS[run.get("time_unit", "ns")]
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        value = seconds / factor
        if value >= 0.9995 or unit == "ns":
            break
    return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} {unit}"


def _formula(run: dict) -> str:
    if not set(_FORMULAS) <= set(run):
        return ""
    return "yes" if all(run[formula] == run[counted] for formula, counted in _FORMULAS.items()) else "NO"


def _sectors(run: dict) -> str:
    """Of the bytes in the sectors that moved, those that were asked for. Caches do not count here."""
    if not set(_SECTORS) <= set(run):
        return ""
    moved = 32 * sum(run[name] for name in _SECTORS)
    asked = run.get("read_bytes", 0) + run.get("written_bytes", 0)
    return f"{asked / moved:.0%}" if moved else ""
