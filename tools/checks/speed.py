"""How fast things are, as ratios within one run, so that a slow or busy machine changes both sides.

Tiled attention (lesson 03) is faster than naive attention. The emulator may be so many times slower than naive attention
when it counts only, and so many times slower again when it checks all: some 2.5 times what was measured when the limits
were set, since only a mistake in its design should be caught. CPU time is compared: one head is one block of V1, so all
of it runs on one core.
"""

import json
from collections.abc import Callable, Iterator

from checks.common import ROOT, Result, build, call, tail

ATTEMPTS = 3  # a shared machine may be busy with something else during one of the two


def times(program: str, names: str, **environment: str) -> dict[str, float]:
    """Seconds of CPU time of the benchmarks that match, the median of 3 runs, by their names: "tiled/N:4096"."""
    output = ROOT / "build/cpu/speed.json"
    ran = call(
        "env",
        *(f"{name}={value}" for name, value in environment.items()),
        ROOT / "build/cpu/bin" / program,
        f"--benchmark_filter=^{names}",
        "--benchmark_repetitions=3",
        f"--benchmark_out={output}",
        "--benchmark_out_format=json",
    )
    if ran.returncode != 0:
        raise RuntimeError(tail(ran.stdout))
    rows = json.loads(output.read_text(encoding="utf-8"))["benchmarks"]
    seconds = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    return {
        row["run_name"].removesuffix("/iterations:1"): row["cpu_time"] * seconds[row["time_unit"]]
        for row in rows
        if row.get("aggregate_name") == "median"
    }


def tiled_gain() -> float:
    of = times("bench_03", "(naive|tiled)/N:4096$")
    return of["naive/N:4096"] / of["tiled/N:4096"]


def counting_cost() -> float:
    emulated = times("bench_06", "v1/N:1024/", FA_SIMT_CHECKS="off")["v1/N:1024"]
    print(f"  emulator, counting only, V1, N = 1024, D = 64, one head: {emulated:.2f} s; wanted: 0.4 s")
    return emulated / times("bench_03", "naive/N:1024$")["naive/N:1024"]


def checks_cost() -> float:
    checked = times("bench_06", "v1/N:256/", FA_SIMT_CHECKS="on")["v1/N:256"]
    print(f"  emulator, with checks, V1, N = 256, D = 64, 4 heads on 2 cores: {2 * checked:.2f} s; wanted: 1 s")
    return checked / times("bench_06", "v1/N:256/", FA_SIMT_CHECKS="off")["v1/N:256"]


def at_least(name: str, measure: Callable[[], float], limit: float) -> Result:
    best = 0.0
    for _ in range(ATTEMPTS):
        best = max(best, measure())
        if best >= limit:
            break
    return Result(name, best >= limit, f"{best:.2f} times, must be at least {limit:g}")


def at_most(name: str, measure: Callable[[], float], limit: float) -> Result:
    best = float("inf")
    for _ in range(ATTEMPTS):
        best = min(best, measure())
        if best <= limit:
            break
    return Result(name, best <= limit, f"{best:.2f} times, must be at most {limit:g}")


def run() -> Iterator[Result]:
    built = build("cpu", "bench_03", "bench_06")
    yield built
    if not built.ok:
        return
    yield at_least("naive attention takes 3 times as long as tiled attention", tiled_gain, 3)
    yield at_most("the emulator, counting only, takes at most 25 times as long as naive attention", counting_cost, 25)
    yield at_most("the emulator's checks take at most 10 times as long as counting only", checks_cost, 10)
