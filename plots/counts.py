"""What is recorded for each lesson, and by which program it is counted. Draws nothing, needs no matplotlib."""

import re
import statistics
from pathlib import Path

from counts_device import ALGORITHMS, ONE_HEAD, lesson_05, lesson_06, lesson_07, lesson_10, lesson_11, traffic
from data import PlotError, Table, benchmark, bytes_by_formula, counts, forward_formulas, table

BOUNDS = (*ALGORITHMS, "least possible")
HOPPER_SRAM = 227 * 1024  # bytes that a thread block may use; bench_04 uses the same


def lesson_01(build: Path) -> dict[str, dict]:
    rows = counts(build, "01")
    return {
        "01_memory": {
            "measured": f"bench_01: peak of fa::Scratch; {ONE_HEAD}",
            "standard": table(rows, "forward", "N", "scratch_bytes"),
        }
    }


def lesson_02(build: Path) -> dict[str, dict]:
    rows = counts(build, "02")
    return {
        "02_accesses": {
            "measured": "bench_02: reads and writes through fa::hbm, for each element of a row of N",
            "safe": table(rows, "safe_softmax", "N", "accesses"),
            "online": table(rows, "online_softmax", "N", "accesses"),
        },
        "02_memory": {
            "measured": "bench_02: peak of fa::Scratch for the output of one query, D = 1, float; tiles of 64 keys",
            "whole row": table(rows, "whole_row", "N", "scratch_bytes"),
            "tile by tile": table(rows, "tile_by_tile", "N", "scratch_bytes"),
        },
    }


def lesson_03(build: Path) -> dict[str, dict]:
    rows = counts(build, "03")
    return {
        "03_memory": {
            "measured": f"bench_03: peaks of fa::Scratch; {ONE_HEAD}; Br = Bc = 64",
            "standard": table(rows, "naive", "N", "scratch_bytes"),
            "tiled": table(rows, "tiled", "N", "scratch_bytes", "sram_bytes"),
        }
    }


def lesson_04(build: Path) -> dict[str, dict]:
    rows = counts(build, "04")
    against_n = {
        name: traffic(table(rows, bench, "N", "read_bytes", "written_bytes")) for name, bench in ALGORITHMS.items()
    }
    against_sram = {
        name: traffic(table(rows, f"{ALGORITHMS[name]}_sram", "bytes", "read_bytes", "written_bytes"))
        for name in ("V1", "V2")
    }
    print("computing: the formulas of demo_traffic", flush=True)
    by_n = formulas(build, "N", [square(N) for N in range(128, 4097, 32)])
    by_sram = formulas(build, "sram", [square(1024, sram=size) for size in range(8 * 1024, 256 * 1024 + 1, 1024)])
    return {
        "04_memory": {
            "measured": f"bench_04: peaks of fa::Scratch; formula: demo_traffic; {ONE_HEAD}; tiles for 227 KiB of SRAM",
            **{name: table(rows, bench, "N", "scratch_bytes", "sram_bytes") for name, bench in ALGORITHMS.items()},
            "formula": by_n["scratch_bytes"],
        },
        "04_traffic_n": {
            "measured": f"bench_04: bytes through fa::hbm; formula: demo_traffic; {ONE_HEAD}; tiles for 227 KiB of SRAM",
            "counted": against_n,
            "formula": by_n["hbm_bytes"],
            "formula at D = 128": formulas(build, "N", [square(4096, D=128)])["hbm_bytes"],
        },
        "04_traffic_sram": {
            "measured": "bench_04: bytes through fa::hbm; formula: demo_traffic; one head, N = 1024, D = 64, float",
            "counted": against_sram,
            "formula": by_sram["hbm_bytes"],
        },
        "04_roofline": {
            "measured": "demo_traffic: FLOP and bytes by formula; one head, N = 4096, 2 bytes an element; tiles for 227 KiB of SRAM",
            **{f"D = {D}": flop_and_bytes(build, D) for D in (64, 128)},
        },
    }


def lesson_08(build: Path) -> dict[str, dict]:
    rows = counts(build, "08")
    return {
        "08_memory": {
            "measured": f"bench_08: peaks of fa::Scratch; {ONE_HEAD}; kept: P of the forward pass; scratch: dP, dS, delta",
            "stored": table(rows, "backward", "N", "kept_bytes", "scratch_bytes"),
        }
    }


def lesson_09(build: Path) -> dict[str, dict]:
    rows = counts(build, "09")
    passes = {"standard": "standard", "V1": "recomputed"}  # the name in figures, and in bench_09
    return {
        "09_memory": {
            "measured": f"bench_09: peaks of fa::Scratch, forward and backward pass; {ONE_HEAD}; tiles for 227 KiB of SRAM. "
            "By formula: bytes of one layer at the training shape of GPT-2 medium, and the longest sequence that fits",
            "stored": table(rows, "stored", "N", "scratch_bytes"),
            "recomputed": table(rows, "recomputed", "N", "scratch_bytes", "sram_bytes"),
            "training": table(rows, "training", "N", "stored_bytes", "recomputed_bytes"),
            "longest": table(rows, "longest", "GB", "stored_N", "recomputed_N"),
        },
        "09_traffic": {
            "measured": f"bench_09: bytes through fa::hbm, backward pass, and formulas; {ONE_HEAD}; tiles for 227 KiB of SRAM",
            "counted": {
                name: traffic(table(rows, bench, "N", "read_bytes", "written_bytes")) for name, bench in passes.items()
            },
            "formula": {name: table(rows, bench, "N", "formula_bytes") for name, bench in passes.items()},
            "formula at D = 128": table(rows, "wide", "N", "standard_bytes", "v1_bytes"),
            "formula in half precision": table(
                rows, "half", "D", "standard_bytes", "standard_flop", "v1_bytes", "v1_flop"
            ),
        },
    }


def square(N: int, D: int = 64, sram: int = HOPPER_SRAM) -> dict[str, int]:
    return {"N": N, "D": D, "sram": sram}


def formulas(build: Path, argument: str, shapes: list[dict[str, int]]) -> dict[str, Table]:
    """Bytes through HBM and peak scratch by algorithm, a table each with a row for each shape."""
    tables = {
        what: {argument: [shape[argument] for shape in shapes], **{name: [] for name in BOUNDS}}
        for what in ("hbm_bytes", "scratch_bytes")
    }
    for shape in shapes:
        for name, row in forward_formulas(build, shape, element_bytes=4).items():
            tables["hbm_bytes"][name].append(bytes_by_formula(row))
            tables["scratch_bytes"][name].append(row["scratch_bytes"])
    return tables


def flop_and_bytes(build: Path, D: int) -> dict[str, dict[str, int]]:
    rows = forward_formulas(build, square(4096, D), element_bytes=2)
    return {name: {"flop": rows[name]["flops"], "hbm_bytes": bytes_by_formula(rows[name])} for name in ALGORITHMS}


def times_03(build: Path) -> dict[str, dict]:
    """How many times as fast tiled attention is as naive attention, pair by pair within one run."""
    repetitions = 7
    # Interleaved, so that what else the machine does falls on both alike.
    flags = ("--benchmark_enable_random_interleaving=true", "--benchmark_min_time=0.2")
    report = benchmark(build, "03", f"--benchmark_repetitions={repetitions}", *flags)
    seconds: dict[tuple[str, int], list[float]] = {}
    for row in report["benchmarks"]:
        if row.get("run_type") == "aggregate":
            continue
        found = re.match(r"(naive|tiled)/N:(\d+)", row["name"])
        if found:
            seconds.setdefault((found[1], int(found[2])), []).append(row["cpu_time"])
    sizes = sorted(N for name, N in seconds if name == "naive")
    ratios = {
        N: sorted(naive / tiled for naive, tiled in zip(seconds["naive", N], seconds["tiled", N], strict=True))
        for N in sizes
    }
    return {
        "03_speed": {
            "measured": f"bench_03: CPU time of naive over that of tiled within one run; {ONE_HEAD}; one thread",
            "repetitions": repetitions,
            "differs from machine to machine": True,
            "compiler": compiler(build),
            "cores": report["context"]["num_cpus"],
            "ratio": {
                "N": list(ratios),
                "least": [round(r[0], 2) for r in ratios.values()],
                "median": [round(statistics.median(r), 2) for r in ratios.values()],
                "most": [round(r[-1], 2) for r in ratios.values()],
            },
        }
    }


def errors_08(build: Path) -> dict[str, dict]:
    """How far central differences are from the gradients. Rounding depends on the processor and on the compiler."""
    columns = ("oracle_error", "backward_error", "float_loss_error")
    errors: dict[str, list] = {name: [] for name in ("halvings", *columns)}
    for row in benchmark(build, "08", "--benchmark_filter=^gradient_check/")["benchmarks"]:
        errors["halvings"].append(int(row["name"].split(":")[1].split("/")[0]))
        for name in columns:
            errors[name].append(float(f"{row[name]:.3g}"))
    return {
        "08_gradient_check": {
            "measured": "bench_08: norm-wise errors over dq, dk and dv at step 2^-halvings; 2 heads, 5 queries, 7 keys, D = 4",
            "differs from machine to machine": True,
            "compiler": compiler(build),
            "errors": errors,
        }
    }


def compiler(build: Path) -> str:
    """Name and version, as CMake found them."""
    for path in build.glob("CMakeFiles/*/CMakeCXXCompiler.cmake"):
        found = dict(re.findall(r'set\(CMAKE_CXX_COMPILER_(ID|VERSION) "([^"]*)"\)', path.read_text(encoding="utf-8")))
        if {"ID", "VERSION"} <= found.keys():
            return f"{'GCC' if found['ID'] == 'GNU' else found['ID']} {found['VERSION']}"
    raise PlotError(f"{build} does not say with which compiler it was built")


RECORD = {
    "01": lesson_01,
    "02": lesson_02,
    "03": lesson_03,
    "04": lesson_04,
    "05": lesson_05,
    "06": lesson_06,
    "07": lesson_07,
    "08": lesson_08,
    "09": lesson_09,
    "10": lesson_10,
    "11": lesson_11,
}
# What differs from machine to machine.
RECORD_OF_A_MACHINE = {"03": times_03, "08": errors_08}
