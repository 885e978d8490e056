"""Measures the two roofs of a GPU's roofline with PyTorch and writes data/roofs.json.

Matrix product: bf16, 8192 x 8192 x 8192, random data. Copy: 4 GiB within HBM, bytes read plus bytes written, far more than a cache
holds. Medians of CUDA-event times after a warm-up, with their spread.

    python plots/measure_roofs.py --commit "$(git rev-parse --short HEAD)" [--out FILE]
"""

import statistics
import subprocess

import script
import torch

SIZE = 8192
COPIED = 4 << 30
WARM_UP, REPEATS = 10, 50


def seconds(work) -> list[float]:
    """The time of each repeat, from the smallest to the largest."""
    for _ in range(WARM_UP):
        work()
    times = []
    for _ in range(REPEATS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return sorted(times)


def rate(amount: int, times: list[float]) -> dict:
    """Three digits of each rate: the rest is noise."""
    longest, median, shortest = times[-1], statistics.median(times), times[0]
    return {
        name: float(f"{amount / time:.3g}")
        for name, time in (("slowest", longest), ("median", median), ("fastest", shortest))
    }


def driver() -> str:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(query, check=True, capture_output=True, text=True).stdout.split()[0]


def main() -> None:
    given = script.recorder("Measures the roofs of a GPU's roofline.", "roofs.json", build=False).parse_args()

    torch.manual_seed(1)
    a, b = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product = torch.empty_like(a)
    source = torch.randint(0, 256, (COPIED,), device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    roofs = {
        "product_flop_per_second": rate(2 * SIZE**3, seconds(lambda: torch.matmul(a, b, out=product))),
        "copy_bytes_per_second": rate(2 * COPIED, seconds(lambda: target.copy_(source))),
        "gpu": torch.cuda.get_device_name(),
        "driver": driver(),
        "cuda": torch.version.cuda,
        "l2_bytes": torch.cuda.get_device_properties(0).L2_cache_size,
        "pytorch": torch.__version__.split("+")[0],
        "commit": given.commit,
        "measured": f"bf16 matrix product of {SIZE}^3, copy of {COPIED >> 30} GiB; median of {REPEATS} CUDA-event times after {WARM_UP} to warm up",
    }
    script.save(given.out, roofs)


if __name__ == "__main__":
    script.run(main)
