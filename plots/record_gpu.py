"""Times attention on a GPU and writes data/h200_forward.json: lesson 05, lesson 06 and cuBLAS in one run of bench_06, and the two
ways to compute S of bench_05.

    cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=native && cmake --build --preset cuda --target bench_05 bench_06
    python plots/record_gpu.py --commit "$(git rev-parse --short HEAD)" [--build build/cuda] [--out FILE]

Needs the standard library and nvidia-smi. A length whose S and P do not fit into the GPU's memory has null in place of a time, and so
have tiles that do not fit into its shared memory. Any other failure, and a rate above the measured peak, is an error: nothing is written.
"""

import json
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

import data
import script
from data import PlotError

MEASURED = (
    "bench_06, bench_05: CUDA-event times, medians over repetitions of at least 50 ms, after a run to warm up that was compared with "
    "the oracle; forward, fp32, random inputs. Bytes: what the algorithm asks HBM for, by formula, and for cuBLAS the least that three "
    "kernels need. L2 is not flushed: q, k, v and out alone are operand_bytes, far more than l2_bytes hold. Peak: cuBLAS's fp32 "
    "product of two 4096 x 4096 matrices"
)
NAMES = {"lesson_05": "lesson 05", "lesson_06": "lesson 06", "cublas": "cuBLAS"}
WHOLE = ("read_bytes", "written_bytes", "scratch_bytes", "flops")
DOES_NOT_FIT = ("out of memory: ", "does not fit: ")


def run(build: Path, number: str, *flags: str) -> list[dict]:
    """The rows of bench_NN, a row for each repetition. What it prints goes to the terminal meanwhile."""
    program = build / "bin" / f"bench_{number}"
    if not program.is_file():
        raise PlotError(f"{program} is missing. Build it: cmake --build {build} --target bench_{number}")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        out = (f"--benchmark_out={report}", "--benchmark_out_format=json")
        code = subprocess.run([program, *out, *flags]).returncode
        if code != 0:
            raise PlotError(f"{program} ended with exit code {code}")
        rows = json.loads(report.read_text(encoding="utf-8"))["benchmarks"]
    return [row for row in rows if row.get("run_type") != "aggregate"]


def grouped(rows: list[dict]) -> dict[tuple, list[dict]]:
    """The repetitions of each benchmark, by its name and arguments: ("lesson_05", ("N", 512), ("D", 64), ...)."""
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        name, *parts = row["name"].split("/")
        arguments = [
            (part[1], int(part[2]))
            for part in (re.fullmatch(r"(N|D|causal|Br|Bc|heads):(\d+)", p) for p in parts)
            if part
        ]
        groups.setdefault((name, *arguments), []).append(row)
    return groups


def summary(repetitions: list[dict], what: str) -> dict:
    """One benchmark: times in milliseconds with four digits, rates, bytes."""
    first = repetitions[0]
    if first.get("error_occurred"):
        if not first["error_message"].startswith(DOES_NOT_FIT):
            raise PlotError(f"{what}: {first['error_message']}")
        print(f"{what}: {first['error_message']}")
        return {}
    if any(row["time_unit"] != "ms" for row in repetitions):
        raise PlotError(f"{what}: its times are in {first['time_unit']}, not in ms")
    times = [row["real_time"] for row in repetitions]  # manual time takes its place
    median = statistics.median(times)
    share = first["flops"] / (median * 1e-3) / first["peak_flops_per_second"]
    if not 0 < share <= 1:
        raise PlotError(f"{what}: {share:.2f} of the measured peak. A rate above the peak is an error, not a record")
    result = {
        "milliseconds": digits(median, 4),
        "least": digits(min(times), 4),
        "most": digits(max(times), 4),
        "tflops": digits(first["flops"] / median / 1e9, 4),
        "peak_share": digits(share, 3),
    }
    for name in ("Br", "Bc", "shared_bytes", "blocks", "operand_bytes", *WHOLE):
        if name in first:
            result[name] = data.whole(first[name], f"{name} of {what}")
    return result


def digits(value: float, count: int) -> float:
    return float(f"{value:.{count}g}")


def table(groups: dict[tuple, list[dict]], name: str, axes: tuple[str, ...], D: int, causal: int) -> dict[str, list]:
    """A row for each benchmark of this name: its arguments `axes`, and all that is known of it; null where it did not fit."""
    rows = []
    for (benchmark, *pairs), repetitions in groups.items():
        arguments = dict(pairs)
        if benchmark != name or arguments.get("D") != D or arguments.get("causal") != causal:
            continue
        what = "/".join([benchmark, *(f"{key}:{value}" for key, value in pairs)])
        found = {**{axis: arguments[axis] for axis in axes}, "repetitions": len(repetitions)}
        rows.append(found | summary(repetitions, what))
    if not rows:
        raise PlotError(f"there is no benchmark {name} with D = {D}, causal = {causal}")
    rows.sort(key=lambda row: [row[axis] for axis in axes])
    columns = dict.fromkeys(column for row in sorted(rows, key=len, reverse=True) for column in row)
    return {column: [row.get(column) for row in rows] for column in columns}


def gpu() -> tuple[str, str]:
    """Name and driver of the first GPU."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        told = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError) as error:
        raise PlotError(f"nvidia-smi does not tell which GPU this is: {error}") from error
    name, driver = told[0].rsplit(", ", 1)
    return name.strip(), driver.strip()


def nvcc(build: Path) -> str:
    """The version that CMake found, as 13.0."""
    for path in build.glob("CMakeFiles/*/CMakeCUDACompiler.cmake"):
        found = re.search(r'set\(CMAKE_CUDA_COMPILER_VERSION "(\d+\.\d+)', path.read_text(encoding="utf-8"))
        if found:
            return found[1]
    raise PlotError(f"{build} does not say by which nvcc it was built. Configure it: cmake --preset cuda")


def record(forward: list[dict], scores: list[dict]) -> dict:
    """What is kept of the rows of bench_06 and bench_05."""
    timed, steps = grouped(forward), grouped(scores)
    sound = next((row for row in forward if not row.get("error_occurred")), None)
    if sound is None:
        raise PlotError("no benchmark of bench_06 was timed")
    facts = {name: data.whole(sound[name], name) for name in ("operand_bytes", "l2_bytes")}
    if facts["operand_bytes"] < 2 * facts["l2_bytes"]:
        raise PlotError(f"the operands, {facts['operand_bytes']} bytes, may stay in L2, {facts['l2_bytes']} bytes")
    lengths = {
        title: {f"D = {D}": {NAMES[name]: table(timed, name, ("N",), D, causal) for name in NAMES} for D in (64, 128)}
        for title, causal in (("forward", 0), ("causal", 1))
    }
    return {
        "measured": MEASURED,
        "tokens": 16384,
        "hidden size": 2048,
        **facts,
        "peak_tflops": digits(sound["peak_flops_per_second"] / 1e12, 4),
        **lengths,
        "tiles": {f"D = {D}": table(timed, "lesson_06_tiles", ("Br", "Bc"), D, 0) for D in (64, 128)},
        "scores": {name: table(steps, name, ("N",), 64, 0) for name in ("scores_untiled", "scores")},
    }


def main() -> None:
    given = script.recorder("Times attention on a GPU and records it.", "h200_forward.json").parse_args()
    name, driver = gpu()
    cuda = nvcc(given.build)
    forward = run(given.build, "06")
    scores = run(given.build, "05", "--benchmark_filter=^scores")
    machine = {"gpu": name, "driver": driver, "cuda": cuda}
    script.save(given.out, {**machine, "commit": given.commit, **record(forward, scores)})


if __name__ == "__main__":
    script.run(main)
