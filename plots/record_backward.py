"""Measures training steps on a GPU and writes data/h200_backward.json: standard attention and V1 of lesson 10, forward and backward,
at the shape of FlashAttention's Figure 2. Times by bench_10; bytes by the GPU's counters, with ncu and profile_10.

    cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=native && cmake --build --preset cuda --target bench_10 profile_10
    python plots/record_backward.py --commit "$(git rev-parse --short HEAD)" [--build build/cuda] [--out FILE]

Needs the standard library, nvidia-smi and ncu, and takes one to two minutes. A counter that is not what the formula says and a rate
above the measured peak are errors: nothing is written.
"""

import json
import statistics
import sys
from pathlib import Path

import data
import record_gpu
import script
from data import PlotError

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import cuda_tools  # noqa: E402
from course import ncu  # noqa: E402
from course.errors import CourseError  # noqa: E402

MEASURED = (
    "bench_10: CUDA-event times, medians over repetitions, after a step to warm up, of which two heads were compared with the oracle; "
    "forward and backward pass, fp32, no mask, no dropout, random inputs. flops: of the products of both passes. read_bytes, "
    "written_bytes: what the kernels ask HBM for, by formula. L2 is not flushed: the operands are operand_bytes, far more than l2_bytes "
    "hold. Peak: cuBLAS's fp32 product of two 4096 x 4096 matrices. hardware: the GPU's counters, by ncu and profile_10"
)
SHAPE = {"B": 64, "H": 16, "N": 1024, "D": 64}  # of bench_10
COUNTERS = ("read_bytes", "written_bytes", "dram_read_bytes", "dram_written_bytes")


def step(repetitions: list[dict], what: str) -> dict:
    """What is kept of one benchmark; nothing but its arguments if its tiles do not fit."""
    found = record_gpu.summary(repetitions, what)
    if not found:
        return {}
    passes = {name: [row[name] for row in repetitions] for name in ("forward_ms", "backward_ms")}
    return {
        "repetitions": len(repetitions),
        **found,
        **{name: record_gpu.digits(statistics.median(times), 4) for name, times in passes.items()},
    }


def timed(rows: list[dict]) -> dict:
    """The standard step, V1 with the tiles that are fastest, and all tiles."""
    standard, tiles = {}, []
    for (name, *pairs), repetitions in record_gpu.grouped(rows).items():
        found = step(repetitions, "/".join([name, *(f"{key}:{value}" for key, value in pairs)]))
        if name == "standard":
            standard = found
        else:
            tiles.append({**dict(pairs), **found})
    fitting = [row for row in tiles if "milliseconds" in row]
    if not standard or not fitting:
        raise PlotError("bench_10 timed no standard step, or no tiles of V1")
    columns = ("Br", "Bc", "shared_bytes", "read_bytes", "written_bytes", "repetitions")
    columns += ("milliseconds", "least", "most", "forward_ms", "backward_ms")
    return {
        "standard": standard,
        "V1": min(fitting, key=lambda row: row["milliseconds"]),
        "tiles": {column: [row.get(column) for row in tiles] for column in columns},
    }


def told(output: str) -> dict:
    """The line of JSON that a profile_NN prints."""
    line = next((line for line in reversed(output.splitlines()) if line.startswith("{")), "")
    try:
        return json.loads(line)
    except ValueError as error:
        raise PlotError("the program did not tell its bytes:\n" + "\n".join(output.splitlines()[-5:])) from error


def hardware(kernels: list[ncu.Kernel], profile: dict, expected: dict, within: float = 0.0) -> dict:
    """The counters of a run and of its kernels, which must be what the formula says, or `within` this part of it."""
    found = [kernel for kernel in kernels if kernel.name in profile["kernels"]]
    if [kernel.name for kernel in found] != profile["kernels"]:
        raise PlotError(f"the GPU ran {[kernel.name for kernel in kernels]}, the program told {profile['kernels']}")
    total = {name: sum(kernel.values[name] for kernel in found) for name in COUNTERS}
    for name in COUNTERS[:2]:
        told = profile["formula"][name]
        if told != expected[name] or abs(total[name] - told) > within * told:
            raise PlotError(f"{name}: the GPU counted {total[name]}, the program says {told}, must be {expected[name]}")
    each = [{"name": kernel.name, **{name: kernel.values[name] for name in COUNTERS}} for kernel in found]
    return {**total, "kernels": each}


def counted(build: Path, flags: list[str], expected: dict) -> dict:
    program = build / "bin" / "profile_10"
    if not program.is_file():
        raise PlotError(f"{program} is missing. Build it: cmake --build {build} --target profile_10")
    shape = ["--heads", SHAPE["B"] * SHAPE["H"], "--n", SHAPE["N"], "--d", SHAPE["D"]]
    command = [str(part) for part in (program.resolve(), *flags, *shape)]
    print("reading the GPU's counters:", *command, flush=True)
    try:
        kernels, output = ncu.measure(command, ROOT, build.resolve() / "record_backward")
    except CourseError as error:
        raise PlotError("\n".join([error.message, *error.details])) from error
    return hardware(kernels, told(output), expected)


def record(build: Path) -> dict:
    rows = record_gpu.run(build, "10")
    found = timed(rows)
    first = next(row for row in rows if not row.get("error_occurred"))
    facts = {name: data.whole(first[name], name) for name in ("operand_bytes", "l2_bytes")}
    if facts["operand_bytes"] < 2 * facts["l2_bytes"]:
        raise PlotError(f"the operands, {facts['operand_bytes']} bytes, may stay in L2, {facts['l2_bytes']} bytes")
    v1 = found["V1"]
    flags = {"standard": ["--standard"], "V1": ["--br", v1["Br"], "--bc", v1["Bc"]]}
    for name, chosen in flags.items():
        found[name]["hardware"] = counted(build, chosen, found[name])
    peak = record_gpu.digits(first["peak_flops_per_second"] / 1e12, 4)
    return {"measured": MEASURED, "shape": SHAPE, **facts, "peak_tflops": peak, **found}


def main() -> None:
    given = script.recorder("Measures training steps on a GPU.", "h200_backward.json").parse_args()
    name, driver = record_gpu.gpu()
    machine = {"gpu": name, "driver": driver, "cuda": record_gpu.nvcc(given.build), "ncu": cuda_tools.version("ncu")}
    script.save(given.out, {**machine, "commit": given.commit, **record(given.build)})


if __name__ == "__main__":
    script.run(main)
