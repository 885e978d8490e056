"""The programs behind the demonstrations: they take flags and answer in JSON."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
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
    with closing(follow(program, flags)) as answers:
        (answer,) = answers
    return answer


def follow(program: Path, flags: dict) -> Iterator[dict]:
    """A program that answers in many lines: yields each as soon as it is there. Close it to end the program early."""
    words = [str(word) for pair in flags.items() for word in pair]
    with (
        tempfile.TemporaryFile("w+") as stderr,
        subprocess.Popen([str(program), *words], stdout=subprocess.PIPE, stderr=stderr, text=True) as child,
    ):
        try:
            for answer in child.stdout:
                yield json.loads(answer)
            code = child.wait()
        finally:
            if child.poll() is None:
                child.kill()
        stderr.seek(0)
        said = stderr.read().strip().removeprefix(f"{program.name}: ")
    if code == USAGE:
        raise UsageError(said)
    if code == NO_DEVICE:
        raise NoDevice(said)
    if code != 0:
        raise InternalError(f"{program.name} ended with exit code {code}.", *said.splitlines()[-5:])
