"""Shows a profile: formula, emulator and hardware side by side, in total and kernel by kernel."""

import re

from . import screen
from .lessons import Lesson

FIELDS = ("read_bytes", "written_bytes", "read_sectors", "written_sectors")
HEADS = ("bytes read", "bytes written", "sectors read", "sectors written")
BANKS = ("requests", "passes", "conflicts")


def show(lesson: Lesson, found, missing: str) -> None:
    """`missing`: why there are no counters of hardware; empty if there are."""
    shape = found.shape
    heads = "1 head" if shape.heads == 1 else f"{shape.heads} heads"
    screen.say((f"{lesson.number}  {lesson.title}", "bold"), f": the {found.implementation}'s bytes through HBM")
    mask = ", causal" if shape.causal else ""
    passed = "".join(f", {one}" for one in found.arguments)
    what = f"{heads}, N = {shape.n}, D = {shape.d}, Br = {shape.br}, Bc = {shape.bc}{mask}"
    screen.say(f"{what}, {found.format}{passed}", indent=4)
    screen.code("")
    screen.code(row("", *HEADS).rstrip(), "underline")
    total = found.hardware_total()
    values("formula", found.formula)
    if found.emulator:
        values("emulator", found.emulator)
    if total:
        values("GPU", total)
        values("GPU's DRAM", {name: total[f"dram_{name}"] for name in FIELDS[:2]})
        off = {name: deviation(total[f"dram_{name}"], found.formula[name]) for name in FIELDS[:2]}
        screen.code(row("  off by", *off.values()).rstrip())
    _by_kernel(found)
    _shared(found)
    screen.code("")
    _conclude(found, missing)


def _by_kernel(found) -> None:
    emulated = found.emulator["kernels"] if found.emulator else []
    measured = found.hardware or []
    if max(len(emulated), len(measured)) < 2:
        return
    for number, name in enumerate([one["name"] for one in emulated] or [one.name for one in measured]):
        screen.code("")
        screen.code("  " + name, "bold")
        if emulated:
            values("emulator", emulated[number])
        if measured:
            counters = measured[number].values
            values("GPU", counters)
            values("GPU's DRAM", {field: counters[f"dram_{field}"] for field in FIELDS[:2]})


def _shared(found) -> None:
    """The passes that accesses to shared memory took, as the emulator counts them, not for a large shape; and a GPU's conflicts."""
    counted = found.emulator["kernels"] if found.emulator else []
    kernels = [(at, one) for at, one in enumerate(counted) if one.get("shared")]
    for number, (at, kernel) in enumerate(kernels):
        screen.code("")
        if number == 0:
            screen.code(wide_row("shared memory", *BANKS).rstrip(), "underline")
        screen.code("  " + kernel["name"], "bold")
        for array in kernel["shared"]:
            for kind in ("loads", "stores"):
                if array[kind]["requests"]:
                    screen.code(wide_row(f"{array['array']}, {kind}", *(f"{array[kind][name]:,}" for name in BANKS)))
        for kind in ("loads", "stores") if found.hardware else ():
            conflicts = sum(array[kind]["conflicts"] for array in kernel["shared"])
            measured = found.hardware[at].values[f"{kind}_conflicts"]
            screen.code(wide_row(f"all {kind}", "", "", f"{conflicts:,}"))
            screen.code(wide_row("  on the GPU", "", "", f"{measured:,}"))
    if kernels:
        screen.code("")
        screen.say("In a pass, each of 32 banks gives one word. A conflict is a pass more, for another word of a bank.")


def _conclude(found, missing: str) -> None:
    total = found.hardware_total()
    for who, counted in (("The emulator's count", found.emulator), ("The GPU's count", total)):
        if not counted:
            continue
        if all(counted[name] == found.formula[name] for name in FIELDS[:2]):
            screen.say((f"{screen.mark('right')}{who} equals the formula, to the byte.", "bold green"))
        else:
            screen.say((f"{screen.mark('wrong')}{who} does NOT equal the formula.", "bold red"))
    if total:
        screen.say(f"{total['nanoseconds'] / 1e6:.3f} ms, under the profiler. DRAM is what the caches let through.")
    if not found.shape.emulated():
        screen.say("The emulator did not run: it would take too long for this shape.")
    if missing:
        screen.say(f"The GPU's counters were not read: there is {missing}.")


def values(name: str, numbers: dict) -> None:
    screen.code(row(name, *(f"{numbers[field]:,}" if field in numbers else "" for field in FIELDS)).rstrip())


def row(name: str, *cells: str) -> str:
    return f"  {name:12}" + "".join(f"{cell:>16}" for cell in cells)


def wide_row(name: str, *cells: str) -> str:
    return f"  {name:28}" + "".join(f"{cell:>16}" for cell in cells)


def deviation(measured: int, expected: int) -> str:
    return f"{(measured / expected - 1) * 100:+.1f}%" if expected else ""


def base_name(kernel: str) -> str:
    """Without the template's arguments, which ncu leaves out."""
    return re.sub(r"<.*", "", kernel)
