"""Times explicit standard attention by PyTorch on a GPU, in fp16, and prints one line of JSON: a table for each D.

    python3 plots/time_pytorch.py

The yardstick that people have at hand: softmax(scale · (Q Kᵀ)) V as four operations, each of which reads what the one before wrote to
HBM. 8 batches of 16 heads. Medians of CUDA-event times after a warm-up, with the least and the most. Some rows of the first result of
each shape are compared with double precision. null in place of a time: out of memory.
"""

import json
import statistics

import torch

BATCHES, HEADS = 8, 16
WARM_UP, REPEATS = 3, 15
ROWS = (0, 1, -1)
MOST_ERROR = 2e-2  # norm-wise: fp16 rounds S, scale S, P and out, each to 2^-11


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax((q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5, dim=-1) @ v


def check(out: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    """Of the first head and the last one."""
    for batch, head in ((0, 0), (BATCHES - 1, HEADS - 1)):
        rows = q[batch, head, list(ROWS)].double()
        exact = attention(rows, k[batch, head].double(), v[batch, head].double())
        error = (out[batch, head, list(ROWS)].double() - exact).norm() / exact.norm()
        if not error <= MOST_ERROR:
            raise SystemExit(f"PyTorch's result is wrong: norm-wise error {error}, allowed {MOST_ERROR}")


def times(N: int, D: int) -> list[float] | None:
    """In milliseconds, from the least to the most."""
    try:
        q, k, v = (torch.randn(BATCHES, HEADS, N, D, device="cuda", dtype=torch.float16) for _ in range(3))
        for _ in range(WARM_UP):
            out = attention(q, k, v)
        check(out, q, k, v)
        found = []
        for _ in range(REPEATS):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            out = attention(q, k, v)
            end.record()
            end.synchronize()
            found.append(begin.elapsed_time(end))
        return sorted(found)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        return None


def main() -> None:
    torch.manual_seed(1)
    tables = {}
    for D in (64, 128):
        table = {name: [] for name in ("N", "milliseconds", "least", "most")}
        for N in (512, 1024, 2048, 4096, 8192, 16384):
            found = times(N, D)
            shown = (statistics.median(found), found[0], found[-1]) if found else (None, None, None)
            table["N"].append(N)
            for name, value in zip(("milliseconds", "least", "most"), shown, strict=True):
                table[name].append(value and float(f"{value:.4g}"))
        tables[f"D = {D}"] = {**table, "repetitions": [REPEATS] * len(table["N"])}
    print(json.dumps({"pytorch": torch.__version__.split("+")[0], "cuda": torch.version.cuda, **tables}))


if __name__ == "__main__":
    main()
