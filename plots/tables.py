"""The tables of measured numbers in README.md and in the texts of lessons 05, 06, 07, 10 and 11, and of find_the_bug. readme_table.py puts them there."""

from collections.abc import Callable

from cells import WIDTHS, by_width, decimal, machine, markdown, moved, row_of, three_digits, time
from data import PlotError
from tables_backward import backward, backward_tiles
from tables_lab import lab
from tables_tensor_cores import banks_07, ladder_07, long_07, speed_07, tiles_07, times_half

KERNELS = ("lesson 05", "lesson 06", "lesson 11")  # ours
TIMED = ("lesson 05", "lesson 06", "cuBLAS")  # before lesson 11
SHOWN_HEADS = (1, 16, 132, 528)  # the figure shows the others
LENGTHS = (512, 4096, 8192, 16384)  # in between, the rates are those of the first two
MIDDLE = (4096, 64)  # N and D of what is said in a sentence
DRAM_TOLERANCE = 0.03  # V1's bytes in DRAM against the formula, where nothing stays in L2


def conditions(record: dict) -> str:
    share = record["operand_bytes"] / record["l2_bytes"]
    return (
        f"Medians of CUDA-event times, fp32, random inputs; {record['tokens']} tokens in all, hidden size {record['hidden size']}.\n"
        f"L2 is not flushed: the operands are {share:.1f} times as large. {machine(record)}."
    )


def tiles_used(record: dict) -> str:
    used = []
    for D in WIDTHS:
        row = row_of(record["forward"][f"D = {D}"]["lesson 06"], N=MIDDLE[0])
        used.append(f"Br = {row['Br']}, Bc = {row['Bc']} at D = {D}")
    return f"V1's tiles are the fastest of those that were tried at N = {MIDDLE[0]}: {'; '.join(used)}."


def compared(record: dict, name: str, than: str) -> str:
    """In a sentence: how many times fewer bytes, and how many times the speed."""
    N, D = MIDDLE
    one, other = (row_of(record["forward"][f"D = {D}"][lesson], N=N) for lesson in (name, than))
    if None in (one["milliseconds"], other["milliseconds"]):
        raise PlotError(f"{name} or {than} has no time at N = {N}, D = {D}")
    bytes_, speed = moved(other) / moved(one), other["milliseconds"] / one["milliseconds"]
    asks = f"{bytes_:.1f} times fewer bytes than" if bytes_ > 1 else f"{1 / bytes_:.1f} times the bytes of"
    takes = f"is {speed:.1f} times as fast" if speed > 1 else f"takes {1 / speed:.1f} times as long"
    return f"At N = {N}, D = {D}, {name} asks for {asks} {than}, and {takes}."


def times(record: dict) -> str:
    """For README.md: bytes, working memory, times."""
    rows, scratch = [], {name: [] for name in KERNELS}
    for D in WIDTHS:
        for N in (1024, 4096, 16384):
            row = {name: row_of(record["forward"][f"D = {D}"][name], N=N) for name in (*KERNELS, "cuBLAS")}
            for name in KERNELS:
                scratch[name].append(row[name]["scratch_bytes"])
            rows.append(
                [str(N), str(D)]
                + [decimal(moved(row[name])) for name in KERNELS]
                + [time(one["milliseconds"]) for one in row.values()]
            )
    most = ", ".join(f"{decimal(max(found))} by {name}" for name, found in scratch.items())
    return "\n".join(
        [
            f"Forward pass on one {record['gpu']}: standard attention (lesson 05), V1 (06), V2 (11), and standard attention by cuBLAS.",
            "",
            markdown(("N", "D", "bytes: 05", "06", "11", "time: 05", "06", "11", "cuBLAS"), rows),
            "",
            f"Bytes: what the kernels ask HBM for, by formula, before any cache. Kept in HBM beyond q, k, v and out, at most: {most}.",
            conditions(record),
            tiles_used(record),
            compared(record, "lesson 06", "lesson 05"),
            compared(record, "lesson 11", "lesson 06"),
        ]
    )


def rates(record: dict) -> str:
    """For lesson 06: time, TFLOP/s and the share of the measured peak. The figure shows all lengths."""
    rows = []
    for N in LENGTHS:
        cells = [str(N)]
        for D in WIDTHS:
            for name in TIMED:
                row = row_of(record["forward"][f"D = {D}"][name], N=N)
                rate, share = row["tflops"], row["peak_share"]
                rated = "" if rate is None else f", {three_digits(rate)} ({100 * share:.0f}%)"
                cells.append(time(row["milliseconds"]) + rated)
        rows.append(cells)
    peak = f"{three_digits(record['peak_tflops'])} TFLOP/s, which cuBLAS reaches in fp32 with two 4096 × 4096 matrices"
    meaning = f"Time, TFLOP/s, and in brackets the share of {peak}."
    return "\n".join([markdown(by_width("N", *TIMED), rows), "", meaning, conditions(record), tiles_used(record)])


def pairs_of_tiles(N: int, Br: int, Bc: int) -> tuple[int, int]:
    """Of N queries and keys: those pairs that a causal mask does not hide as a whole, and all."""
    first_keys = range(0, N, Bc)
    seen = [sum(first <= min(i + Br, N) - 1 for first in first_keys) for i in range(0, N, Br)]
    return sum(seen), len(seen) * len(first_keys)


def causal(record: dict) -> str:
    """For lesson 06: what a causal mask saves, at N = 4096."""
    N = MIDDLE[0]
    rows = [[name] for name in TIMED]
    kept = []
    for D in WIDTHS:
        for line, name in zip(rows, TIMED, strict=True):
            whole, masked = (row_of(record[part][f"D = {D}"][name], N=N) for part in ("forward", "causal"))
            if None in (whole["milliseconds"], masked["milliseconds"]):
                raise PlotError(f"{name} has no time at N = {N}, D = {D}, with a causal mask or without")
            line += [
                f"{decimal(moved(masked))} ({100 * moved(masked) / moved(whole):.0f}%)",
                f"{time(masked['milliseconds'])} ({100 * masked['milliseconds'] / whole['milliseconds']:.0f}%)",
            ]
        v1 = row_of(record["causal"][f"D = {D}"]["lesson 06"], N=N)
        seen, pairs = pairs_of_tiles(N, v1["Br"], v1["Bc"])
        kept.append(f"{seen} of {pairs} ({100 * seen / pairs:.0f}%) at D = {D}")
    return "\n".join(
        [
            markdown(by_width(f"N = {N}, causal", "bytes", "time"), rows),
            "",
            f"In brackets: of the same without a mask. Pairs of tiles that V1 does not skip: {', '.join(kept)}. Measured as the times above.",
        ]
    )


def tiles(record: dict) -> str:
    """For lesson 06: V1's tiles against time, at N = 4096."""
    tables = record["tiles"]
    rows = []
    for Br, Bc in zip(tables["D = 64"]["Br"], tables["D = 64"]["Bc"], strict=True):
        cells = [str(Br), str(Bc)]
        for D in WIDTHS:
            row = row_of(tables[f"D = {D}"], Br=Br, Bc=Bc)
            cells += [decimal(row["shared_bytes"]), decimal(moved(row)), time(row["milliseconds"], "does not fit")]
        rows.append(cells)
    head = ("Br", *by_width("Bc", "shared", "HBM", "time"))
    return "\n".join([markdown(head, rows), "", f"N = {MIDDLE[0]}, no mask. Measured as the times above."])


def scores(record: dict) -> str:
    """For lesson 05: what shared memory brings, steps 1 and 2 at N = 4096, D = 64."""
    names = {"scores_untiled": "step 1: `scores_untiled`", "scores": "step 2: `scores`"}
    rows = []
    for name, text in names.items():
        row = row_of(record["scores"][name], N=MIDDLE[0])
        rows.append([text, decimal(moved(row)), time(row["milliseconds"]), three_digits(row["tflops"])])
    return "\n".join(
        [
            markdown(("", "asked of HBM", "time", "TFLOP/s"), rows),
            "",
            f"N = {MIDDLE[0]}, D = {MIDDLE[1]}. {conditions(record)}",
        ]
    )


def profile(record: dict) -> str:
    """For lessons 05, 06 and 11: formula, emulator, the GPU's instructions and its DRAM side by side, for each shape."""
    meters = {"formula": ("formula", ""), "emulator": ("emulator", "")}
    meters |= {"GPU": ("hardware", ""), "GPU's DRAM": ("hardware", "dram_")}
    head, rows, sums = ["bytes"], [[name] for name in meters], []
    for row in record["profiles"]:
        shape = row["shape"]
        heads = "1 head" if shape["heads"] == 1 else f"{shape['heads']} heads"
        which = f"{heads}, N = {shape['n']}{', causal' if shape['causal'] else ''}"
        head += [f"{which}: read", "written"]
        for line, (meter, start) in zip(rows, meters.values(), strict=True):
            count = row[meter]
            line += ["", ""] if count is None else [f"{count[f'{start}{way}_bytes']:,}" for way in ("read", "written")]
        asked, through = moved(row["hardware"]), moved(row["hardware"], "dram_")
        sums.append(f"{decimal(through)} of {decimal(asked)} ({100 * through / asked:.0f}%) with {which}")
    same = {(row["shape"]["d"], row["shape"]["br"], row["shape"]["bc"]) for row in record["profiles"]}
    if len(same) != 1:
        raise PlotError(f"the profiles must have the same D, Br and Bc: {same}")
    D, Br, Bc = same.pop()
    return "\n".join(
        [
            markdown(tuple(head), rows),
            "",
            f"D = {D}, Br = {Br}, Bc = {Bc}. DRAM moves {', '.join(sums)}.",
            f"By `./course profile` with ncu {record['ncu']}. {machine(record)}.",
        ]
    )


def dram_error(record: dict) -> dict[str, float]:
    """What V1 moves through DRAM over the formula, less 1, at the largest shape. It must be small: nothing stays in L2."""
    row = max(record["profiles"], key=lambda row: row["shape"]["heads"] * row["shape"]["n"])
    errors = {
        way: row["hardware"][f"dram_{way}_bytes"] / row["formula"][f"{way}_bytes"] - 1 for way in ("read", "written")
    }
    for way, error in errors.items():
        if abs(error) > DRAM_TOLERANCE:
            raise PlotError(
                f"V1 at {row['shape']}: the bytes {way} in DRAM are {error:+.1%} off the formula, more than {DRAM_TOLERANCE:.0%}"
            )
    return errors


def profile_v1(record: dict) -> str:
    """For lesson 06: the profile, and how far DRAM is from the formula."""
    errors = " and ".join(f"{error:+.1%} ({way})" for way, error in dram_error(record).items())
    return f"{profile(record)}\nAt the larger shape DRAM is {errors} off the formula; {DRAM_TOLERANCE:.0%} are allowed."


def v2_times(record: dict) -> str:
    """For lesson 11: V2 beside lessons 05 and 06 and cuBLAS, without a mask and causal."""
    rows = []
    for D in WIDTHS:
        for title, mask in (("forward", ""), ("causal", "causal")):
            tables = record[title][f"D = {D}"]
            for N in (N for N in (1024, 4096, 16384) if N in tables["lesson 11"]["N"]):
                row = {name: row_of(table, N=N) for name, table in tables.items()}
                v2 = row["lesson 11"]
                cells = [time(row[name]["milliseconds"]) for name in ("lesson 05", "lesson 06", "lesson 11", "cuBLAS")]
                cells.append(f"{three_digits(v2['tflops'])} ({100 * v2['peak_share']:.0f}%)")
                cells += [decimal(moved(row[name])) for name in ("lesson 06", "lesson 11")]
                rows.append([str(N), str(D), mask, *cells])
    head = ("N", "D", "", "lesson 05", "lesson 06", "lesson 11", "cuBLAS", "11: TFLOP/s", "HBM: 06", "11")
    peak = f"In brackets: of {three_digits(record['peak_tflops'])} TFLOP/s, which cuBLAS reaches in fp32 with two 4096 × 4096 matrices."
    return "\n".join([markdown(head, rows), "", peak, conditions(record), tiles_used(record)])


def v2_heads(record: dict) -> str:
    """For lesson 11: V1 and V2 against the number of heads."""
    v1, v2 = record["heads"]["V1"], record["heads"]["V2"]
    rows = []
    for N, heads in zip(v2["N"], v2["heads"], strict=True):
        if heads not in SHOWN_HEADS:
            continue
        row = [row_of(table, N=N, heads=heads) for table in (v1, v2)]
        ratio = row[0]["milliseconds"] / row[1]["milliseconds"]
        cells = [cell for one in row for cell in (str(one["blocks"]), time(one["milliseconds"]))]
        rows.append([str(N), str(heads), *cells, f"{ratio:.1f}"])
    head = ("N", "heads", "blocks: V1", "time", "V2", "time", "times as fast")
    where = f"D = 64, no mask; {record['multiprocessors']} multiprocessors. V1: Br = {v1['Br'][0]}, Bc = {v1['Bc'][0]}."
    how = "Medians of CUDA-event times, fp32, random inputs. With few heads all operands stay in L2."
    return "\n".join([markdown(head, rows), "", where, f"{how} {machine(record)}."])


# The name behind the word `table` in a marker, what makes the table, and the data that it is made from.
TABLES: dict[str, tuple[Callable[[dict], str], str]] = {
    "times": (times, "h200_v2"),
    "rates": (rates, "h200_forward"),
    "tiles": (tiles, "h200_forward"),
    "causal": (causal, "h200_forward"),
    "scores": (scores, "h200_forward"),
    "profile_05": (profile, "h200_profile_05"),
    "profile_06": (profile_v1, "h200_profile_06"),
    "times_half": (times_half, "h200_tensor_cores"),
    "speed_07": (speed_07, "h200_tensor_cores"),
    "tiles_07": (tiles_07, "h200_tensor_cores"),
    "ladder_07": (ladder_07, "h200_tensor_cores"),
    "long_07": (long_07, "h200_tensor_cores"),
    "banks_07": (banks_07, "h200_tensor_cores"),
    "backward": (backward, "h200_backward"),
    "backward_tiles": (backward_tiles, "h200_backward"),
    "v2_times": (v2_times, "h200_v2"),
    "v2_heads": (v2_heads, "h200_v2"),
    "profile_11": (profile, "h200_v2"),
    "lab": (lab, "h200_lab"),
}
