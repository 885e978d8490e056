"""The programs behind the demonstrations: they take flags and answer in JSON."""

import json
import subprocess
from pathlib import Path

from .build import Build
from .errors import USAGE, InternalError, UsageError

NO_DEVICE = 4  # exit code, as of the tests that are skipped then


def build(where: Build, *names: str) -> list[Path]:
    """Builds them all at once."""
    with where.locked():
        built = where.target(*names)
    if not built.ok:
        where.fail(" or ".join(names), built)
    return [where.binary(name) for name in names]


class NoDevice(InternalError):
    """A program was built for a GPU, and there is none that it can use."""


def ask(program: Path, flags: dict) -> dict:
    """What the program answers. Raises UsageError if it rejects a flag, NoDevice, or InternalError if it fails."""
    words = [str(word) for pair in flags.items() for word in pair]
    done = subprocess.run([str(program), *words], capture_output=True, text=True)
    said = done.stderr.strip().removeprefix(f"{program.name}: ")
    if done.returncode == USAGE:
        raise UsageError(said)
    if done.returncode == NO_DEVICE:
        raise NoDevice(said)
    if done.returncode != 0:
        raise InternalError(f"{program.name} ended with exit code {done.returncode}.", *said.splitlines()[-5:])
    return json.loads(done.stdout)
