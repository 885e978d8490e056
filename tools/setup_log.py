"""How the set-up talks, asks, runs commands with a log, and remembers answers. Standard library only."""

import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".course"
LOG = FOLDER / "setup.log"
ANSWERS = FOLDER / "setup.json"


class SetupError(Exception):
    """Ends the set-up with a message and exit code 1."""


def say(line: str = "") -> None:
    print(line, file=sys.stderr, flush=True)


def can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def offline() -> bool:
    return os.environ.get("COURSE_OFFLINE") == "1"


def ask(question: str) -> bool:
    """Yes or no; no by default."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def may_install(agreed: bool) -> bool:
    if offline():
        say("COURSE_OFFLINE is set, so nothing is downloaded.")
        return False
    if os.geteuid() != 0 and not shutil.which("sudo"):
        say("You are not root, and there is no sudo: somebody who may install packages has to run them.")
        return False
    agreed = agreed or os.geteuid() == 0  # root asked for the course, and may install
    if not agreed and not can_ask():
        say("There is no terminal to ask on. Run them yourself, or agree in advance: ./course --yes")
        return False
    return agreed or ask("Run them now?")


def remembered() -> dict:
    """python: "private", or "system" when the system's Python packages serve. declined: what not to ask about again."""
    try:
        found = json.loads(ANSWERS.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def remember(**answers) -> None:
    fresh = ANSWERS.with_suffix(".new")
    fresh.write_text(json.dumps({**remembered(), **answers}, indent=1) + "\n")
    fresh.replace(ANSWERS)


@contextmanager
def one_at_a_time():
    """Yields the log. Holding it keeps a second set-up of the same folder waiting."""
    FOLDER.mkdir(exist_ok=True)
    with open(LOG, "a") as log:
        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another set-up of this folder is running. Waiting for it to end.")
            fcntl.flock(log, fcntl.LOCK_EX)
        log.truncate(0)
        yield log


def run(what: str, command: list[str], log, **environment: str) -> bool:
    """Runs a command with its output in the log. A terminal shows the last line of it as it comes."""
    say(f"{what} ...")
    if command[0] == "sudo" and not can_ask():
        command = ["sudo", "-n", *command[1:]]  # fails where it would wait for a password
    log.write(f"\n$ {shlex.join(command)}\n")
    log.flush()
    try:
        everything = {**os.environ, **environment}
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=everything)
    except FileNotFoundError as error:
        log.write(f"{error.filename}: {error.strerror}\n")
        log.flush()
        return False
    started = time.monotonic()
    try:
        while child.poll() is None:
            try:
                child.wait(0.2)
            except subprocess.TimeoutExpired:
                show_progress(time.monotonic() - started)
    except KeyboardInterrupt:
        # The terminal sent Ctrl-C to the command as well. Apt ends when its packages are in a sound state.
        say("\nStopping. Waiting for the command at work to end ...")
        child.wait()
        raise
    finally:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
    return child.returncode == 0


def last_lines(count: int) -> list[str]:
    """The last lines of what the last command printed."""
    with open(LOG, "rb") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - 4000))
        text = log.read().decode(errors="replace").rpartition("\n$ ")[2]
    return [line for line in text.splitlines()[1:] if line.strip()][-count:]


def show_progress(seconds: float) -> None:
    last = last_lines(1)
    if sys.stderr.isatty() and last:
        line = f"{seconds:4.0f} s  {last[0].strip()}"
        print(f"\r\033[K{line[: shutil.get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)


def show_failure(what: str) -> None:
    lines = last_lines(8)
    full = shutil.disk_usage(FOLDER).free < 1024**2  # then the log may not say so
    if full or any("No space left on device" in line or "Disk quota exceeded" in line for line in lines):
        raise SetupError(f"{what}: no space left on the disk. The log is {LOG}")
    say(f"{what}. The end of the log, {LOG}:")
    for line in lines:
        say(f"    {line[:160]}")
