"""`./course doctor`: what is there, what is missing, how to get it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import cuda_tools

from . import screen
from .build import Build
from .errors import NOT_RIGHT, RIGHT

FOLDERS = ("exercises", "build", ".course", "plots")
LOW = 2 * 1024**3  # bytes; all builds together stay below it


def doctor(root: Path) -> int:
    import bootstrap  # tools/bootstrap.py, beside this package

    rows = bootstrap.report()
    missing = bootstrap.missing_essentials(rows)
    screen.say(("What the course needs", "bold"))
    for row in rows:
        essential = row in missing
        _line(row.name, row.found, row.needed, row.how, "missing" if essential else "not there")
    screen.code("")
    screen.say(("For the GPU, optional: every lesson runs without", "bold"))
    for name, found, gain, how in _for_the_gpu():
        _line(name, found, gain, how, "not there", "brings")
    screen.code("")
    screen.say(("The course's folder", "bold"))
    problems = _folders(root)
    if missing or problems:
        _conclude(f"Missing or not usable: {len(missing) + problems}.", "bold red")
        return NOT_RIGHT
    _conclude("Everything essential is there.", "bold green")
    return RIGHT


def _for_the_gpu() -> Iterator[tuple[str, str | None, str, str]]:
    """Name, what is there, what one gains by it, how to get it."""
    toolkit = "the CUDA toolkit; if it is there, put its folder bin on the PATH"
    yield "nvcc", cuda_tools.version("nvcc"), "--gpu, for check, test and bench", toolkit
    yield "GPU", "; ".join(cuda_tools.gpus()) or None, "the same kernels on real hardware, and their time", ""
    yield "ncu", cuda_tools.version("ncu"), "./course profile: the bytes that the GPU's own counters saw", toolkit
    sanitizer = "races and accesses out of bounds on the GPU, found by compute-sanitizer"
    yield "compute-sanitizer", cuda_tools.version("compute-sanitizer"), sanitizer, toolkit


def _folders(root: Path) -> int:
    """Prints the state of the folders; returns the number of problems."""
    problems = 0
    for name in FOLDERS:
        place = root / name
        while not place.exists():
            place = place.parent
        if os.access(place, os.W_OK | os.X_OK):
            _line(f"{name}/", "writable", "", "", "")
        else:
            problems += 1
            _line(f"{name}/", None, "", "copy the course to a folder that is yours", "not writable")
    free = shutil.disk_usage(root).free
    if free >= LOW:
        _line("free space", f"{free / 1024**3:.1f} GiB", "", "", "")
    else:
        problems += 1
        _line("free space", None, f"2 GiB, and {free / 1024**3:.1f} GiB are free", "", "too little")
    build = Build(root)
    if not (build.folder / "build.ninja").exists():
        _line("build/cpu/", "not made yet", "", "", "")
    elif reason := build.stale():
        _line("build/cpu/", None, "", f"./course check, which makes it afresh; it {reason}", "stale")
    else:
        _line("build/cpu/", "configured", "", "", "")
    return problems


def _line(name: str, found: str | None, needed: str, how: str, absent: str, word: str = "needed") -> None:
    good = (screen.mark("right") + (found or ""), "green")
    bad = (screen.mark("wrong") + absent, "yellow" if absent == "not there" else "red")
    screen.say(f"{name:18}", good if found else bad, indent=2)
    details = (needed and f"{word}: {needed}", how and f"to get it: {how}")
    if not found and any(details):
        screen.say("; ".join(filter(None, details)), indent=6)


def _conclude(message: str, style: str) -> None:
    screen.code("")
    screen.say((message, style))
