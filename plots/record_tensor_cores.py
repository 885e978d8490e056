"""Times lesson 07 on a GPU and writes data/h200_tensor_cores.json: both kernels beside cuBLAS and PyTorch, their tiles, and the rungs of
the ladder; and by the GPU's counters, with ncu, bytes and bank conflicts.

    cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=native
    cmake --build --preset cuda --target bench_07 bench_rungs profile_07 profile_rung_07_no_padding
    python3 plots/record_tensor_cores.py --commit "$(git rev-parse --short HEAD)" [--build build/cuda] [--python python3] [--out FILE]

Needs the standard library, nvidia-smi, ncu and a Python that has PyTorch (--python), and takes about three minutes. What the texts say
must hold: the mma kernel is at least 2.4, 2.8 and 3.5 times as fast as PyTorch's explicit attention at N = 1024, 2048 and 4096 with
D = 64, and faster from N = 1024 on with D = 128. Otherwise, and for a rate above the measured peak or bytes that are not what the
formula says, nothing is written.
"""

import argparse
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import data
import record_backward
import record_gpu
from counts_device import PROFILES_07
from data import PlotError

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import cuda_tools  # noqa: E402
from course import ncu  # noqa: E402
from course.errors import CourseError  # noqa: E402

LESSON = ROOT / "lessons/07_flash_v1_tensor_cores"
MEASURED = (
    "bench_07: CUDA-event times, medians over repetitions of at least 50 ms, after a run to warm up that was compared with the oracle; "
    "forward, random inputs, 8 batches of 16 heads, one batch at N = 65536. Bytes: what the algorithm asks HBM for, by formula, and for "
    "cuBLAS the least that three kernels need. L2 is not flushed: it holds l2_bytes, the operands of a row are operand_bytes. Peak: "
    "cuBLAS's product of two 8192 x 8192 matrices in the same format, of two 4096 x 4096 ones in fp32. PyTorch: time_pytorch.py"
)
KERNELS = {"cublas": "cuBLAS", "wmma": "wmma", "mma": "mma"}
FORMATS = ("fp16", "bf16")
WIDTHS = (64, 128)
LEAST_RATIOS = {1024: 2.4, 2048: 2.8, 4096: 3.5}  # PyTorch's time over that of mma, D = 64
LEAST_N = 1024  # from here on mma is faster with D = 128, too
# With many blocks ncu may count a little less: 6 in 10,000 of the bytes read were seen. With one block, none.
COUNTED_WITHIN = 1e-3
LADDER_AT = {"N": 4096, "D": 64, "causal": 0}
SMALL, LARGE = (64, 64), (128, 768)  # tiles, Br and Bc, of the ladder
# Flags. The operands do not fit into L2, and Bc divides N: ncu counts the zeros of an asynchronous copy as if they were read.
LARGE_PROFILE = {
    "wmma": ["--heads", "264", "--n", "2048"],
    "mma": ["--heads", "264", "--n", "2048", "--br", "128", "--bc", "512"],
}


def times(table: dict) -> dict[int, float]:
    """By N, of those that fit."""
    return {N: time for N, time in zip(table["N"], table["milliseconds"], strict=True) if time is not None}


def check(record: dict) -> None:
    """Raises PlotError unless the mma kernel is as fast as the texts say."""
    for D in WIDTHS:
        slow, fast = times(record["pytorch"][f"D = {D}"]), times(record["forward"]["fp16"][f"D = {D}"]["mma"])
        ratios = {N: slow[N] / fast[N] for N in slow.keys() & fast.keys() if N >= LEAST_N}
        missing = LEAST_RATIOS.keys() - ratios.keys()
        if missing:
            raise PlotError(f"PyTorch or mma has no time at N = {min(missing)}, D = {D}")
        for N, ratio in sorted(ratios.items()):
            least = LEAST_RATIOS.get(N, 1.0) if D == 64 else 1.0
            if ratio < least or ratio == 1.0:
                raise PlotError(
                    f"at N = {N}, D = {D} mma is {ratio:.2f} times as fast as PyTorch: must be {least}, and above 1"
                )


def tiles_row(timed: dict, bench: str, Br: int, Bc: int) -> dict:
    """One row of a benchmark of tiles, at LADDER_AT."""
    key = (bench, *LADDER_AT.items(), ("Br", Br), ("Bc", Bc))
    if key not in timed:
        raise PlotError(f"{bench} was not timed with Br = {Br}, Bc = {Bc}")
    found = record_gpu.summary(timed[key], f"{bench}, Br = {Br}, Bc = {Bc}")
    return {"repetitions": len(timed[key]), "Br": Br, "Bc": Bc, **found}


def ladder(timed: dict, rungs: list[tuple[dict, dict]]) -> list[dict]:
    """From the slowest to the fastest. `rungs`: from rungs.toml, and what its benchmark timed."""
    steps = [(rung["title"], tiles_row(rows, "wmma_tiles", *SMALL)) for rung, rows in reversed(rungs)]
    steps.append(("rows padded, so that banks differ", tiles_row(timed, "wmma_tiles", *SMALL)))
    tried = [key for key in timed if key[0] == "wmma_tiles" and dict(key[1:]).items() >= LADDER_AT.items()]
    rows = [tiles_row(timed, "wmma_tiles", dict(key[1:])["Br"], dict(key[1:])["Bc"]) for key in tried]
    best = min((row for row in rows if "milliseconds" in row), key=lambda row: row["milliseconds"])
    steps.append(("larger tiles", best))
    steps.append(("mma: S, P and the state in registers", mma_beside(timed, best["Bc"])))
    most = max(dict(key[1:])["Bc"] for key in timed if key[0] == "mma_tiles" and "flops" in timed[key][0])
    steps.append(("the most keys that fit", tiles_row(timed, "mma_tiles", LARGE[0], min(most, LARGE[1]))))
    return [{"title": title, **row} for title, row in steps]


def mma_beside(timed: dict, Bc: int) -> dict:
    return tiles_row(timed, "mma_tiles", LARGE[0], Bc)


def record(rows: list[dict], rungs: list[tuple[dict, list[dict]]], pytorch: dict) -> dict:
    """What is kept of the rows of bench_07, of those of each rung, and of what time_pytorch.py printed."""
    timed = record_gpu.grouped(rows)
    by_format = {}
    for kind in FORMATS:
        first = next((row for row in rows if row["name"].startswith(f"mma_{kind}/") and "flops" in row), None)
        if first is None:
            raise PlotError(f"bench_07 timed no mma in {kind}")
        by_format[kind] = record_gpu.digits(first["peak_flops_per_second"] / 1e12, 4)
        l2_bytes = data.whole(first["l2_bytes"], "l2_bytes")

    def lengths(causal: int) -> dict:
        return {
            kind: {
                f"D = {D}": {
                    name: record_gpu.table(timed, f"{bench}_{kind}", ("N",), D, causal)
                    for bench, name in KERNELS.items()
                }
                for D in WIDTHS
            }
            for kind in FORMATS
        }

    found = {
        "measured": MEASURED,
        "batches": 8,
        "heads": 16,
        "l2_bytes": l2_bytes,
        "peak_tflops": by_format,
        "forward": lengths(0),
        "causal": lengths(1),
        "tiles": {
            name: {f"D = {D}": record_gpu.table(timed, f"{name}_tiles", ("Br", "Bc"), D, 0) for D in WIDTHS}
            for name in ("wmma", "mma")
        },
        "lesson 06": record_gpu.table(timed, "lesson_06", ("N",), 64, 0),
        "pytorch": pytorch,
        "ladder": ladder(timed, [(rung, record_gpu.grouped(found)) for rung, found in rungs]),
    }
    check(found)
    return found


def counted(build: Path, name: str, large: bool) -> dict:
    """One kernel's bytes by the formula and by the GPU's counters, which must agree, and bank conflicts; of the small shape, the emulator's, too."""
    program, *flags = PROFILES_07[name]
    path = build / "bin" / program
    if not path.is_file():
        raise PlotError(f"{path} is missing. Build it: cmake --build {build} --target {program}")
    command = [str(path.resolve()), *flags, *(LARGE_PROFILE[name] if large else [])]
    print("reading the GPU's counters:", *command, flush=True)
    try:
        kernels, output = ncu.measure(command, ROOT, build.resolve() / "record_tensor_cores")
    except CourseError as error:
        raise PlotError("\n".join([error.message, *error.details])) from error
    told = record_backward.told(output)
    hardware = record_backward.hardware(kernels, told, told["formula"], within=COUNTED_WITHIN if large else 0.0)
    ours = [kernel for kernel in kernels if kernel.name in told["kernels"]]
    conflicts = {kind: sum(kernel.values[kind] for kernel in ours) for kind in ("loads_conflicts", "stores_conflicts")}
    emulator = None
    if not large:
        emulator = {column: values[0] for column, values in data.load("07_profile")[name].items() if column != "N"}
    return {
        "name": name,
        "shape": told["shape"],
        "formula": told["formula"],
        "emulator": emulator,
        "hardware": hardware | conflicts,
    }


def time_pytorch(python: str) -> dict:
    print("timing PyTorch", flush=True)
    command = [python, str(Path(__file__).with_name("time_pytorch.py"))]
    try:
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError) as error:
        raise PlotError(f"{' '.join(command)} told no times: {error}") from error


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="plots/record_tensor_cores.py", description="Times lesson 07 on a GPU and records it."
    )
    parser.add_argument("--commit", required=True, help="of the repository, to be recorded")
    parser.add_argument("--build", metavar="DIR", type=Path, default=Path("build/cuda"), help="default: build/cuda")
    parser.add_argument(
        "--python", default=sys.executable, help="one that has PyTorch; default: the one that runs this"
    )
    parser.add_argument("--out", metavar="FILE", type=Path, default=data.FOLDER / "h200_tensor_cores.json")
    given = parser.parse_args()
    name, driver = record_gpu.gpu()
    machine = {"gpu": name, "driver": driver, "cuda": record_gpu.nvcc(given.build), "ncu": cuda_tools.version("ncu")}
    profiles = [counted(given.build, kernel, large=False) for kernel in PROFILES_07]
    profiles += [counted(given.build, kernel, large=True) for kernel in LARGE_PROFILE]
    pytorch = time_pytorch(given.python)
    rungs = [
        (rung, record_gpu.run(given.build, f"rung_07_{rung['name']}", f"--benchmark_filter={at(*SMALL)}"))
        for rung in tomllib.loads((LESSON / "rungs.toml").read_text(encoding="utf-8"))["rung"]
    ]
    found = {
        **machine,
        "commit": given.commit,
        "profiles": profiles,
        **record(record_gpu.run(given.build, "07"), rungs, pytorch),
    }
    data.save(given.out, data.text_of(found))
    print(f"recorded: {given.out}")


def at(Br: int, Bc: int) -> str:
    """The one benchmark of a rung, as Google Benchmark's filter."""
    return (
        "^wmma_tiles/" + "/".join(f"{name}:{value}" for name, value in {**LADDER_AT, "Br": Br, "Bc": Bc}.items()) + "/"
    )


if __name__ == "__main__":
    try:
        main()
    except PlotError as error:
        print(f"plots/record_tensor_cores.py: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
