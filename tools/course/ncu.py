"""Runs a program under ncu and reads what the GPU's counters saw, kernel by kernel."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

import cuda_tools

from . import process
from .errors import USAGE, CourseError, InternalError, UsageError

# Our names, and ncu's for the sum over the whole GPU.
METRICS = {
    "read_bytes": "smsp__sass_data_bytes_mem_global_op_ld.sum",  # asked for by the kernel's instructions
    "written_bytes": "smsp__sass_data_bytes_mem_global_op_st.sum",
    "read_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",  # 32 bytes each, as L1 sees a warp's access
    "written_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_written_bytes": "dram__bytes_write.sum",
    "loads_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",  # passes through banks beyond the least
    "stores_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "nanoseconds": "gpu__time_duration.sum",
}
# What asynchronous copies read: instructions of their own to ncu, but to us read_bytes like others. GPUs before compute
# capability 8.0 have none, and their ncu may not know the counter.
COPIED_BYTES = "smsp__sass_data_bytes_mem_global_op_ldgsts.sum"
UNITS = {"bytes": "byte", "sectors": "sector", "conflicts": "", "nanoseconds": "ns"}
NO_PERMISSION = "ERR_NVGPUCTRPERM"


class ProgramFailed(InternalError):
    """The program under ncu ended with an error of its own."""


@dataclass(frozen=True)
class Kernel:
    name: str
    values: dict[str, int]  # by the names of METRICS


def measure(command: list[str], root: Path, logs: Path) -> tuple[list[Kernel], str]:
    """The kernels of this program in order, and what it printed. Raises InternalError if ncu or the program fails, UsageError if it refuses its arguments."""
    report = logs / "ncu.csv"
    logs.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    # The clocks stay as they are: they change no byte, and to set them takes rights that not everybody has.
    flags = ["--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
    flags += [
        "--print-kernel-base",
        "function",
        "--metrics",
        ",".join([*METRICS.values(), COPIED_BYTES]),
        "--log-file",
        str(report),
    ]
    code, output = process.stream([cuda_tools.find("ncu") or "ncu", *flags, *command], root, logs / "profile.log")
    told = report.read_text(encoding="utf-8", errors="replace") if report.exists() else ""
    if code != 0 or NO_PERMISSION in told:
        raise _failed(code, told, output)
    return parse(told), output


def _failed(code: int, told: str, output: str) -> CourseError:
    said = [line for line in told.splitlines() if line.startswith("==ERROR==")]
    program_said = output.strip().splitlines()[-5:]
    if code == USAGE:  # the program's; ncu itself ends with 1
        return UsageError("The program refuses its arguments.", *program_said)
    if NO_PERMISSION in told:
        return InternalError(
            "ncu may not read the GPU's counters: only administrators may, as the driver is set up here.",
            *said[:1],
            "What to do: https://developer.nvidia.com/ERR_NVGPUCTRPERM",
        )
    if any("application returned an error code" in line for line in said):
        return ProgramFailed(f"The program ended with exit code {code}.", *program_said)
    return InternalError(f"ncu ended with exit code {code}.", *said, *program_said)


def parse(told: str) -> list[Kernel]:
    """Of --csv --page raw: lines that begin with ==, then a row of names, a row of units, a row for each kernel."""
    rows = list(csv.reader(line for line in told.splitlines() if line.startswith('"')))
    if len(rows) < 3:
        raise InternalError("ncu saw no kernel.", *told.strip().splitlines()[-3:])
    names, units, *kernels = rows
    missing = [metric for metric in METRICS.values() if metric not in names]
    if missing:
        raise InternalError("ncu did not measure all that was asked for.", *missing)
    columns = {name: names.index(metric) for name, metric in METRICS.items()}
    for name, column in columns.items():
        expected = UNITS[re.split(r"_", name)[-1]]
        if units[column] != expected:
            raise InternalError(f"ncu tells {names[column]} in {units[column]}, and not in {expected}.")
    kernel_name = names.index("Kernel Name")
    found = []
    for row in kernels:
        values = {name: _number(row[column], names[column]) for name, column in columns.items()}
        values["read_bytes"] += _copied_bytes(dict(zip(names, row, strict=True)))
        found.append(Kernel(row[kernel_name], values))
    return found


def _copied_bytes(row: dict[str, str]) -> int:
    told = row.get(COPIED_BYTES, "")
    return _number(told, COPIED_BYTES) if re.match(r"\d", told) else 0


def _number(text: str, metric: str) -> int:
    """ "4,194,304"; sums over all units of the GPU are whole numbers."""
    try:
        return round(float(text.replace(",", "")))
    except ValueError:
        raise InternalError(f"ncu tells {metric} as '{text}', which is not a number.") from None
