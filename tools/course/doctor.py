"""`./course doctor`: what is there, what is missing, how to get it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

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
    _line(
        "CUDA compiler",
        _version("nvcc", "--version", pattern=r"release ([\d.]+)"),
        "",
        "the CUDA toolkit",
        "not there",
    )
    _line(
        "GPU",
        _version("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", pattern=r"(.+)"),
        "",
        "",
        "not there",
    )
    screen.code("")
    screen.say(("The course's folder", "bold"))
    problems = _folders(root)
    if missing or problems:
        _conclude(f"Missing or not usable: {len(missing) + problems}.", "bold red")
        return NOT_RIGHT
    _conclude("Everything essential is there.", "bold green")
    return RIGHT


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


def _line(name: str, found: str | None, needed: str, how: str, absent: str) -> None:
    good = (screen.mark("right") + (found or ""), "green")
    bad = (screen.mark("wrong") + absent, "yellow" if absent == "not there" else "red")
    screen.say(f"{name:18}", good if found else bad, indent=2)
    details = (needed and f"needed: {needed}", how and f"to get it: {how}")
    if not found and any(details):
        screen.say("; ".join(filter(None, details)), indent=6)


def _conclude(message: str, style: str) -> None:
    screen.code("")
    screen.say((message, style))


def _version(*command: str, pattern: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(pattern, done.stdout) if done.returncode == 0 else None
    return found[1].strip() if found else None
