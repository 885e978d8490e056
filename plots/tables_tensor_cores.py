"""The tables of what a GPU measured of lesson 07: half precision, on tensor cores."""

from cells import WIDTHS, by_width, decimal, machine, markdown, moved, row_of, three_digits, time
from data import PlotError

STANDARD = ("PyTorch", "cuBLAS")
LENGTHS = (1024, 2048, 4096, 16384)
MIDDLE, LONG = 4096, 65536


def conditions(record: dict) -> str:
    table = record["forward"]["fp16"]["D = 64"]["mma"]
    cached = [N for N, size in zip(table["N"], table["operand_bytes"], strict=True) if size <= record["l2_bytes"]]
    note = f"L2 is not flushed; at D = 64 it could hold the operands up to N = {max(cached)}." if cached else ""
    return (
        f"Medians of CUDA-event times, random inputs, {record['batches']} batches of {record['heads']} heads. {note}\n"
        f"{machine(record)}, PyTorch {record['pytorch']['pytorch']}."
    )


def pytorch_time(record: dict, N: int, D: int) -> float | None:
    table = record["pytorch"][f"D = {D}"]
    return table["milliseconds"][table["N"].index(N)]


def faster(slow: float | None, fast: float) -> str:
    return "" if slow is None else f"{slow / fast:.1f}"


def times_half(record: dict) -> str:
    """For README.md: standard attention and the mma kernel, fp16, no mask."""
    rows = []
    for D in WIDTHS:
        tables = record["forward"]["fp16"][f"D = {D}"]
        for N in LENGTHS:
            cublas, mma = (row_of(tables[name], N=N) for name in ("cuBLAS", "mma"))
            slow = pytorch_time(record, N, D)
            sizes = [decimal(row["scratch_bytes"]) for row in (cublas, mma)]
            times = [time(slow), time(cublas["milliseconds"]), time(mma["milliseconds"])]
            rows.append([str(N), str(D), *sizes, *times, faster(slow, mma["milliseconds"])])
    head = ("N", "D", "scratch: standard", "V1", "time: PyTorch", "cuBLAS", "V1", "times as fast")
    return "\n".join(
        [
            f"Forward pass in half precision (fp16) on one {record['gpu']}: standard attention by PyTorch and by cuBLAS, and V1 on tensor cores (lesson 07).",
            "",
            markdown(head, rows),
            "",
            "Scratch: kept in HBM beyond q, k, v and out, by cuBLAS's standard attention, which keeps P in the place of S, and by V1. PyTorch: explicit,",
            "as product, scale, softmax and product. Times as fast: V1 beside PyTorch.",
            conditions(record),
        ]
    )


def speed_07(record: dict) -> str:
    """For lesson 07: both kernels beside standard attention; the causal mask and bfloat16, at N = 4096, too."""
    rows = []
    for D in WIDTHS:
        for part, kind, lengths in (
            ("forward", "fp16", (512, *LENGTHS)),
            ("causal", "fp16", (MIDDLE,)),
            ("forward", "bf16", (MIDDLE,)),
        ):
            tables = record[part][kind][f"D = {D}"]
            for N in lengths:
                plain = part == "forward" and kind == "fp16"
                slow = pytorch_time(record, N, D) if plain else None
                wmma = row_of(tables["wmma"], N=N) if N in tables["wmma"]["N"] else None
                cublas, mma = (row_of(tables[name], N=N) for name in ("cuBLAS", "mma"))
                cells = [time(slow) if plain else "", time(cublas["milliseconds"])]
                cells.append(time(wmma["milliseconds"]) if wmma else "")
                cells.append(time(mma["milliseconds"]))
                cells.append(f"{three_digits(mma['tflops'])} ({100 * mma['peak_share']:.0f}%)")
                cells.append(faster(slow, mma["milliseconds"]))
                what = {"causal": "causal", "forward": "" if kind == "fp16" else kind}[part]
                rows.append([str(N), str(D), what, *cells])
    head = ("N", "D", "", *STANDARD, "wmma", "mma", "mma: TFLOP/s", "times PyTorch")
    peaks = " and ".join(f"{three_digits(record['peak_tflops'][kind])} TFLOP/s in {kind}" for kind in ("fp16", "bf16"))
    tiles = []
    for D in WIDTHS:
        tables = record["forward"]["fp16"][f"D = {D}"]
        used = {name: row_of(tables[name], N=MIDDLE) for name in ("wmma", "mma")}
        tiles.append(f"D = {D}: " + ", ".join(f"{name} {row['Br']} x {row['Bc']}" for name, row in used.items()))
    return "\n".join(
        [
            markdown(head, rows),
            "",
            f"fp16 and no mask, if nothing else is said. In brackets: of what cuBLAS reaches with two 8192 × 8192 matrices, {peaks}.",
            f"Tiles, Br x Bc: {'; '.join(tiles)}.",
            conditions(record),
        ]
    )


def tiles_07(record: dict) -> str:
    """For lesson 07: mma against the keys of a tile."""
    rows = []
    for Bc in record["tiles"]["mma"]["D = 64"]["Bc"]:
        cells = [str(Bc)]
        for D in WIDTHS:
            row = row_of(record["tiles"]["mma"][f"D = {D}"], Bc=Bc)
            cells += [decimal(row["shared_bytes"]), decimal(moved(row)), time(row["milliseconds"], "does not fit")]
        rows.append(cells)
    head = by_width("Bc", "shared", "HBM", "time")
    return "\n".join(
        [markdown(head, rows), "", f"mma, N = {MIDDLE}, fp16, no mask, Br = 128. Measured as the times above."]
    )


def ladder_07(record: dict) -> str:
    """For lesson 07: the steps by which the kernel got fast."""
    rows = []
    before = None
    for rung in record["ladder"]:
        gained = "" if before is None else f"{before / rung['milliseconds']:.2f}"
        before = rung["milliseconds"]
        tiles = f"{rung['Br']} x {rung['Bc']}"
        rate = three_digits(rung["tflops"])
        rows.append([rung["title"], tiles, decimal(moved(rung)), time(rung["milliseconds"]), rate, gained])
    old = row_of(record["lesson 06"], N=MIDDLE)
    return "\n".join(
        [
            markdown(("", "Br x Bc", "HBM", "time", "TFLOP/s", "times as fast"), rows),
            "",
            f"N = {MIDDLE}, D = 64, fp16, no mask. Times as fast: as the line above. Lesson 06, in fp32 and without tensor cores, takes {time(old['milliseconds'])} for the",
            f"same heads. {conditions(record)}",
        ]
    )


def agreement(profiles: list[dict]) -> str:
    """How far the GPU's counters are from the formula: not at all with one head, or nothing would have been recorded."""
    off = max(
        abs(profile["hardware"][way] / count - 1) for profile in profiles for way, count in profile["formula"].items()
    )
    same = "The GPU's counters say the same, to the byte, and so does the emulator where it ran."
    if off == 0:
        return same
    many = f"With many heads they are off by up to {off:.2%}; the reason is not known."
    return f"With 1 head the GPU's counters say the same, to the byte, and so does the emulator. {many}"


def banks_07(record: dict) -> str:
    """For lesson 07: bytes, which record_tensor_cores.py has seen to be those of the formula, and bank conflicts."""
    rows = []
    for profile in record["profiles"]:
        shape, counters, emulator = profile["shape"], profile["hardware"], profile["emulator"]
        heads = "1 head" if shape["B"] * shape["H"] == 1 else f"{shape['B'] * shape['H']} heads"
        row = [f"{profile['name']}: {heads}, N = {shape['Nq']}", f"{shape['Br']} x {shape['Bc']}"]
        row += [f"{profile['formula'][f'{way}_bytes']:,}" for way in ("read", "written")]
        row += [f"{counters[f'dram_{way}_bytes']:,}" for way in ("read", "written")]
        for kind in ("loads_conflicts", "stores_conflicts"):
            row += [f"{emulator[kind]:,}" if emulator else "", f"{counters[kind]:,}"]
        rows.append(row)
    head = ("", "Br x Bc", "read", "written", "DRAM: read", "written")
    head += ("conflicts of loads: emulator", "GPU", "of stores: emulator", "GPU")
    return "\n".join(
        [
            markdown(head, rows),
            "",
            f"Read and written: bytes, by formula. {agreement(record['profiles'])} Conflicts: passes through the banks of shared memory beyond the fewest.",
            "The GPU counts a few passes more than the emulator. With 264 heads, those of mma are 1% of its passes for loads.",
            f"D = 64, fp16, no mask. By ncu {record['ncu']}. {machine(record)}.",
        ]
    )


def long_07(record: dict) -> str:
    """For lesson 07, a sentence: N = 65536."""
    tables = record["forward"]["fp16"]["D = 64"]
    mma, cublas = (row_of(tables[name], N=LONG) for name in ("mma", "cuBLAS"))
    if mma["milliseconds"] is None:
        raise PlotError(f"mma has no time at N = {LONG}")
    standard = 2 * record["heads"] * LONG**2
    other = "is out of memory" if cublas["milliseconds"] is None else f"takes {time(cublas['milliseconds'])}"
    alone = "would be" if cublas["milliseconds"] is None else "is"
    return (
        f"One batch of {record['heads']} heads, N = {LONG}, D = 64, fp16: V1 keeps {decimal(mma['scratch_bytes'])} beyond q, k, v and out, and takes {time(mma['milliseconds'])}.\n"
        f"S alone {alone} {decimal(standard)}; standard attention by cuBLAS {other}. {machine(record)}."
    )
