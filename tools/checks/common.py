"""What the checks share."""

import functools
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JOBS = 2


@dataclass
class Result:
    name: str
    ok: bool
    detail: str = ""
    count: int = 1  # how many tests this stands for


@dataclass
class Lesson:
    name: str  # "01_naive_attention"
    data: dict  # lesson.toml

    @property
    def number(self) -> str:
        return self.name[:2]

    @property
    def folder(self) -> Path:
        return ROOT / "lessons" / self.name

    @property
    def exercise(self) -> Path:
        return ROOT / "exercises" / self.name / self.data["file"]

    @property
    def solution(self) -> Path:
        return ROOT / "solutions" / self.name / self.data["file"]


def lessons() -> list[Lesson]:
    files = sorted(ROOT.glob("lessons/*/lesson.toml"))
    return [Lesson(file.parent.name, tomllib.loads(file.read_text(encoding="utf-8"))) for file in files]


def call(*command, timeout: float | None = None) -> subprocess.CompletedProcess:
    """Runs a command in the repository's root; stdout and stderr together in `stdout`."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout,
    )


def tail(text: str, lines: int = 30) -> str:
    return "\n".join(text.splitlines()[-lines:])


@functools.cache
def configure(preset: str) -> Result:
    """Once in a run: later, the build itself configures again what has changed."""
    configured = call("cmake", "--preset", preset)
    return Result(f"preset {preset} configures", configured.returncode == 0, tail(configured.stdout))


def build(preset: str, *targets: str) -> Result:
    """Configures the preset and builds the targets, or all of it."""
    configured = configure(preset)
    if not configured.ok:
        return configured
    wanted = ["--target", *targets] if targets else []
    built = call("cmake", "--build", "--preset", preset, "--parallel", JOBS, *wanted)
    return Result(f"preset {preset} builds", built.returncode == 0, tail(built.stdout))
