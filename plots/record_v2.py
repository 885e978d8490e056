"""Times attention on a GPU and writes data/h200_v2.json: lessons 05, 06 and 11 and cuBLAS in one run of bench_11, against N and
against the number of heads; and V2's bytes by the GPU's counters, with ncu and profile_11.

    cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=native && cmake --build --preset cuda --target bench_11 profile_11
    python plots/record_v2.py --commit "$(git rev-parse --short HEAD)" [--build build/cuda] [--out FILE]

Needs the standard library, nvidia-smi and ncu, and takes one to three minutes. What lesson 11's text says of V2 must hold: faster than
lesson 06 in every row, faster than lesson 05 from N = 1024 on, and at least 3 times as fast as lesson 06 with 16 heads of N = 4096.
Otherwise, and for a rate above the measured peak or a counter that is not what the formula says, nothing is written.
"""

import sys
from pathlib import Path

import data
import record_backward
import record_gpu
import script
from data import PlotError

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import cuda_tools  # noqa: E402
from course import ncu  # noqa: E402
from course.errors import CourseError  # noqa: E402

MEASURED = (
    "bench_11: CUDA-event times, medians over repetitions of at least 50 ms, after a run to warm up that was compared with the oracle; "
    "forward, fp32, random inputs. Bytes: what the algorithm asks HBM for, by formula, and for cuBLAS the least that three kernels "
    "need. L2 is not flushed: against N, q, k, v and out alone are operand_bytes, far more than l2_bytes hold; with few heads they "
    "stay in it. Peak: cuBLAS's fp32 product of two 4096 x 4096 matrices"
)
NAMES = {"lesson_05": "lesson 05", "lesson_06": "lesson 06", "lesson_11": "lesson 11", "cublas": "cuBLAS"}
SMALL = {"heads": 1, "n": 512, "d": 64, "br": 64, "bc": 32, "causal": False}  # of the emulator's count, too
LARGE = {**SMALL, "heads": 264, "n": 2048}
HEADS = {"V1": "v1_heads", "V2": "v2_heads"}
FEW = {"N": 4096, "heads": 16}  # where V1 leaves most of the GPU idle
LEAST_RATIO = 3.0
LEAST_N = 1024  # from here on V2 beats lesson 05


def column(table: dict, keys: tuple[str, ...]) -> dict[tuple, float]:
    """The times of a table by its arguments. Every one must be there, but for what did not fit."""
    rows = zip(*(table[key] for key in keys), table["milliseconds"], strict=True)
    return {tuple(row[:-1]): row[-1] for row in rows}


def check_faster(what: str, slow: dict, fast: dict, keys: tuple[str, ...], least_N: int = 0) -> None:
    slower, faster = column(slow, keys), column(fast, keys)
    if slower.keys() != faster.keys():
        raise PlotError(f"{what}: timed at {sorted(slower)} and at {sorted(faster)}")
    for arguments, time in faster.items():
        where = ", ".join(f"{key} = {value}" for key, value in zip(keys, arguments, strict=True))
        if time is None:
            raise PlotError(f"{what}, {where}: V2 has no time")
        other = slower[arguments]
        if other is not None and dict(zip(keys, arguments, strict=True))["N"] >= least_N and time >= other:
            raise PlotError(f"{what}, {where}: V2 takes {time} ms, the other one {other} ms: must be less")


def few_heads(heads: dict) -> float:
    """How many times as fast as V1 V2 is where there are few blocks."""
    times = {name: column(table, ("N", "heads")).get(tuple(FEW.values())) for name, table in heads.items()}
    if None in times.values():
        raise PlotError(f"V1 or V2 was not timed with {FEW['heads']} heads of N = {FEW['N']}")
    return times["V1"] / times["V2"]


def check(record: dict) -> None:
    """Raises PlotError unless V2 is as fast as the text says."""
    for title in ("forward", "causal"):
        for width, tables in record[title].items():
            what, v2 = f"{title}, {width}", tables["lesson 11"]
            check_faster(f"{what}, lesson 06 and 11", tables["lesson 06"], v2, ("N",))
            check_faster(f"{what}, lesson 05 and 11", tables["lesson 05"], v2, ("N",), LEAST_N)
    check_faster("heads, V1 and V2", record["heads"]["V1"], record["heads"]["V2"], ("N", "heads"))
    ratio = few_heads(record["heads"])
    if ratio < LEAST_RATIO:
        raise PlotError(
            f"with {FEW['heads']} heads of N = {FEW['N']} V2 is {ratio:.2f} times as fast as V1: must be {LEAST_RATIO}"
        )


def record(rows: list[dict]) -> dict:
    """What is kept of the rows of bench_11."""
    timed = record_gpu.grouped(rows)
    sound = [row for row in rows if not row.get("error_occurred")]
    against_n = next((row for row in sound if row["name"].startswith("lesson_11/")), None)
    against_heads = next((row for row in sound if row["name"].startswith("v2_heads/")), None)
    if against_n is None or against_heads is None:
        raise PlotError("bench_11 timed no V2 against N, or none against the heads")
    facts = {name: data.whole(against_n[name], name) for name in ("operand_bytes", "l2_bytes")}
    if facts["operand_bytes"] < 2 * facts["l2_bytes"]:
        raise PlotError(f"the operands, {facts['operand_bytes']} bytes, may stay in L2, {facts['l2_bytes']} bytes")
    lengths = {
        title: {
            f"D = {D}": {NAMES[name]: record_gpu.table(timed, name, ("N",), D, causal) for name in NAMES}
            for D in (64, 128)
        }
        for title, causal in (("forward", 0), ("causal", 1))
    }
    found = {
        "measured": MEASURED,
        "tokens": 16384,
        "hidden size": 2048,
        **facts,
        "multiprocessors": data.whole(against_heads["multiprocessors"], "multiprocessors"),
        "peak_tflops": record_gpu.digits(against_n["peak_flops_per_second"] / 1e12, 4),
        **lengths,
        "heads": {name: record_gpu.table(timed, bench, ("N", "heads"), 64, 0) for name, bench in HEADS.items()},
    }
    check(found)
    return found


def counted(build: Path, shape: dict) -> dict:
    """V2's bytes at one shape by the formula and by the GPU's counters, which must agree; and by the emulator, where it ran."""
    program = build / "bin" / "profile_11"
    if not program.is_file():
        raise PlotError(f"{program} is missing. Build it: cmake --build {build} --target profile_11")
    flags = [part for name in ("heads", "n", "d") for part in (f"--{name}", str(shape[name]))]
    command = [str(program.resolve()), *flags, *(["--causal"] if shape["causal"] else [])]
    print("reading the GPU's counters:", *command, flush=True)
    try:
        kernels, output = ncu.measure(command, ROOT, build.resolve() / "record_v2")
    except CourseError as error:
        raise PlotError("\n".join([error.message, *error.details])) from error
    told = record_backward.told(output)
    hardware = record_backward.hardware(kernels, told, told["formula"])
    return {"shape": shape, "formula": told["formula"], "emulator": emulated(shape), "hardware": hardware}


def emulated(shape: dict) -> dict | None:
    """What the emulator counted at this shape, as data/11_traffic.json has it."""
    table = data.load("11_traffic")["counted"]["V2"]
    if shape["heads"] != 1 or shape["causal"] or shape["n"] not in table["N"]:
        return None
    return {name: table[name][table["N"].index(shape["n"])] for name in ("read_bytes", "written_bytes")}


def main() -> None:
    given = script.recorder("Times V2 beside V1 on a GPU and records it.", "h200_v2.json").parse_args()
    name, driver = record_gpu.gpu()
    machine = {"gpu": name, "driver": driver, "cuda": record_gpu.nvcc(given.build), "ncu": cuda_tools.version("ncu")}
    shapes = (SMALL, {**SMALL, "causal": True}, LARGE)
    profiles = {"profiles": [counted(given.build, shape) for shape in shapes]}
    timed = record(record_gpu.run(given.build, "11"))
    script.save(given.out, {**machine, "commit": given.commit, **profiles, **timed})


if __name__ == "__main__":
    script.run(main)
