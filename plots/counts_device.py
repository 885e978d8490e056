"""What is recorded for the lessons whose kernels the emulator counts. Draws nothing, needs no matplotlib."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from data import PlotError, Table, counts, load, program, table

ALGORITHMS = {"standard": "standard", "V1": "v1", "V2": "v2"}  # the name in figures, and in bench_04 and bench_11
KERNELS = {"standard": "standard", "V1": "v1"}  # on the emulator: the name in figures, and in bench_06 and bench_10
ONE_HEAD = "one head, D = 64, float"
PROFILES_07 = {  # the name in tables, and the program with its flags
    "wmma, rows not padded": ("profile_rung_07_no_padding",),
    "wmma": ("profile_07",),
    "mma": ("profile_07", "--mma"),
}


def lesson_05(build: Path) -> dict[str, dict]:
    rows = counts(build, "05")
    return {
        "05_memory": {
            "measured": f"bench_05: peak of fa::DeviceScratch; {ONE_HEAD}",
            "standard": table(rows, "standard", "N", "scratch_bytes"),
        }
    }


def lesson_06(build: Path) -> dict[str, dict]:
    rows = counts(build, "06")
    by_formula = ("formula_read_bytes", "formula_written_bytes")
    return {
        "06_memory": {
            "measured": f"bench_06: peaks of fa::DeviceScratch; {ONE_HEAD}",
            **{name: table(rows, bench, "N", "scratch_bytes") for name, bench in KERNELS.items()},
        },
        "06_traffic": {
            "measured": f"bench_06: bytes through fa::hbm, counted by the emulator, and formulas; {ONE_HEAD}; Br = Bc = 32",
            "counted": {
                name: traffic(table(rows, bench, "N", "read_bytes", "written_bytes")) for name, bench in KERNELS.items()
            },
            "formula": {name: traffic(table(rows, bench, "N", *by_formula)) for name, bench in KERNELS.items()},
        },
    }


def lesson_07(build: Path) -> dict[str, dict]:
    rows = counts(build, "07")
    state = {name: table(rows, name, "N", "scratch_bytes") for name in ("wmma", "mma")}
    if state["wmma"] != state["mma"]:
        raise PlotError(f"bench_07: both kernels keep the same state: {state}")
    return {
        "07_memory": {
            "measured": "bench_07: peaks of fa::DeviceScratch; one head, D = 64; standard: lesson 05, in float; V1: in fp16",
            "standard": table(rows, "standard", "N", "scratch_bytes"),
            "V1": state["mma"],
        },
        "07_profile": {
            "measured": "profile_07: bytes through fa::hbm and bank conflicts, counted by the emulator; one head, D = 64, fp16, Br = Bc = 64",
            **{name: profiled(build, *command) for name, command in PROFILES_07.items()},
        },
    }


def profiled(build: Path, name: str, *flags: str) -> Table:
    """What one run of a profile_NN moved, in one row; the conflicts of all arrays in shared memory together."""
    told = program(build, name, *flags)
    count, formula = told["count"], told["formula"]
    arrays = [array for kernel in count["kernels"] for array in kernel["shared"]]
    moved = {way: count[way] for way in ("read_bytes", "written_bytes")}
    if moved != formula:
        raise PlotError(f"{name}: counted {moved}, by formula {formula}")
    conflicts = {f"{kind}_conflicts": sum(array[kind]["conflicts"] for array in arrays) for kind in ("loads", "stores")}
    return {"N": [told["shape"]["Nq"]], **{column: [value] for column, value in (moved | conflicts).items()}}


def lesson_10(build: Path) -> dict[str, dict]:
    fastest = load("h200_backward")["V1"]  # the paper's N takes long, so there only what the table of times shows
    tiles = "^v1_tiles/(N:256/|N:1024/Br:{Br}/Bc:{Bc}/)".format(**fastest)
    with ThreadPoolExecutor() as pool:  # the longest of all, and each program keeps one core busy
        parts = pool.map(lambda names: counts(build, "10", names), (tiles, "^(standard|v1)/"))
        rows = [row for part in parts for row in part]
    moved = ("read_bytes", "written_bytes", "formula_read_bytes", "formula_written_bytes")
    return {
        "10_memory": {
            "measured": f"bench_10: peaks of fa::DeviceScratch, forward and backward pass; {ONE_HEAD}",
            **{name: table(rows, bench, "N", "scratch_bytes") for name, bench in KERNELS.items()},
        },
        "10_traffic": {
            "measured": f"bench_10: bytes through fa::hbm, forward and backward pass, counted by the emulator, and formulas; {ONE_HEAD}",
            "standard": table(rows, "standard", "N", *moved),
            "V1": table(rows, "v1_tiles", "N", "Br", "Bc", *moved),
        },
    }


def lesson_11(build: Path) -> dict[str, dict]:
    rows = counts(build, "11")
    by_formula = ("formula_read_bytes", "formula_written_bytes")
    return {
        "11_memory": {
            "measured": f"bench_11: peaks of fa::DeviceScratch; {ONE_HEAD}",
            **{name: table(rows, bench, "N", "scratch_bytes") for name, bench in ALGORITHMS.items()},
        },
        "11_traffic": {
            "measured": f"bench_11: bytes through fa::hbm, counted by the emulator, and formulas; {ONE_HEAD}; V1: Br = Bc = 64; V2: Br = 64, Bc = 32",
            "counted": {
                name: table(rows, bench, "N", "read_bytes", "written_bytes") for name, bench in ALGORITHMS.items()
            },
            "formula": {name: traffic(table(rows, bench, "N", *by_formula)) for name, bench in ALGORITHMS.items()},
        },
    }


def traffic(counted: Table) -> Table:
    """Reads and writes as one sum."""
    (argument, values), (_, read), (_, written) = counted.items()
    return {
        argument if argument == "N" else "sram": values,
        "hbm_bytes": [r + w for r, w in zip(read, written, strict=True)],
    }
