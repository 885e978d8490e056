"""`./course profile`: the bytes of one run by formula, as the emulator counts them, and as a GPU's counters see them."""

import json
import os
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import cuda_tools

from . import git, gpu, ncu, process, profile_table, screen
from .bench import build_program
from .build import Build
from .errors import NOT_RIGHT, RIGHT, USAGE, CourseError, InternalError, UsageError
from .lessons import Lesson

SUMS = ("read_bytes", "written_bytes")
EXTENTS = {
    "heads": "batches times heads (default: 1)",
    "n": "queries, and as many keys (default: 512)",
    "d": "columns of a head (default: 64)",
    "br": "rows of a Q tile (default: 32; 64 in lessons 07 and 11)",
    "bc": "rows of a K/V tile (default: 32; 64 in lesson 07)",
}

SHAPE_FLAGS = {"--causal", *(f"--{name}" for name in EXTENTS)}


@dataclass(frozen=True)
class Shape:
    heads: int = 1
    n: int = 512
    d: int = 64
    br: int = 32
    bc: int = 32
    causal: bool = False

    def flags(self) -> list[str]:
        extents = [part for name in EXTENTS for part in (f"--{name}", str(getattr(self, name)))]
        return extents + ["--causal"] * self.causal

    def emulated(self) -> bool:
        """The emulator takes some seconds for this; for --large it would take hours."""
        return self.heads * self.n**2 * self.d <= 16 * 1024**2 * 64


LARGE = Shape(heads=264, n=2048)  # its operands are several times as large as the L2 of any GPU


@dataclass(frozen=True)
class Profile:
    lesson: str
    implementation: str
    arguments: list[str]  # of the program, before those of the shape
    shape: Shape
    format: str  # of the operands
    formula: dict
    emulator: dict | None  # with the sums of METRICS that it counts, and "kernels"
    hardware: list[ncu.Kernel] | None

    def hardware_total(self) -> dict | None:
        if self.hardware is None:
            return None
        return {name: sum(kernel.values[name] for kernel in self.hardware) for name in ncu.METRICS}

    def agrees(self) -> bool:
        """DRAM is not asked: how many bytes get so far is up to the caches."""
        counted = [one for one in (self.emulator, self.hardware_total()) if one]
        return all(one[name] == self.formula[name] for one in counted for name in SUMS)


def profile(
    lesson: Lesson,
    large: bool,
    changes: dict,
    exercise: bool,
    arguments: list[str],
    record: Path | None,
    commit: str | None,
) -> int:
    if not (lesson.folder / "profile.cpp").exists():
        raise UsageError(f"Lesson {lesson.number} has nothing to profile: it has no lessons/{lesson.name}/profile.cpp.")
    for name, value in changes.items():
        if value < 1:
            raise UsageError(f"--{name} {value}: must be at least 1.")
    for flag in arguments:
        if flag.partition("=")[0] in SHAPE_FLAGS:
            raise UsageError(f"{flag} after --: the runner has to know the shape. Put it before --.")
    br, bc = lesson.tiles
    shape = replace(LARGE if large else Shape(), **{"br": br, "bc": bc, **changes})
    missing = missing_for_hardware()
    if missing and not shape.emulated():
        raise InternalError(
            f"There is {missing}, and this shape would take the emulator too long.",
            f"A smaller one: ./course profile {lesson.number}",
        )
    emulator = hardware = None
    try:
        if shape.emulated():
            emulator = emulate(lesson, exercise, arguments, shape, needed=bool(missing))
        if not missing:
            hardware = run(gpu.build_to_run(lesson, "profile"), lesson, exercise, arguments, shape)
    except ExerciseFailed as failed:
        for line in failed.details:
            screen.code(line)
        screen.say(f"Is your file right? ./course check {lesson.number}")
        return NOT_RIGHT
    found = combine(lesson, exercise, arguments, shape, emulator, hardware)
    profile_table.show(lesson, found, missing)
    if record:
        write(record, found, commit or os.environ.get("COURSE_COMMIT") or commit_of(lesson.root))
    return RIGHT if found.agrees() else NOT_RIGHT


def missing_for_hardware() -> str:
    """What keeps the hardware's counters from being read, or nothing."""
    if not cuda_tools.has_gpu():
        return "no GPU"
    absent = [name for name in ("nvcc", "ncu") if not cuda_tools.find(name)]
    return f"no {' and no '.join(absent)}" if absent else ""


class ExerciseFailed(CourseError):
    """It does not compile, which was said then, or does not run: the details are what it printed."""


def emulate(lesson: Lesson, exercise: bool, arguments: list[str], shape: Shape, needed: bool):
    """None if it is not needed, and this machine cannot build it: without Boost, say."""
    try:
        return run(Build(lesson.root), lesson, exercise, arguments, shape)
    except InternalError as error:
        if needed:
            raise
        screen.complain(error)
        screen.note("going on without the emulator's count.")
        return None


def run(
    build: Build, lesson: Lesson, exercise: bool, arguments: list[str], shape: Shape
) -> tuple[dict, list[ncu.Kernel] | None]:
    """What profile_NN tells, and with a GPU its counters."""
    program = build_program(build, "profile", lesson, exercise)
    if program is None:
        raise ExerciseFailed("It does not compile.")
    command = [str(program), *arguments, *shape.flags()]
    if build.preset == gpu.PRESET:
        with screen.progress("reading the GPU's counters"):
            try:
                kernels, output = ncu.measure(command, lesson.root, build.logs)
            except ncu.ProgramFailed as failed:
                raise (ExerciseFailed(failed.message, *failed.details) if exercise else failed) from None
        return told(output), kernels
    with screen.progress("counting on the emulator"):
        code, output = process.stream(command, lesson.root, build.logs / "profile.log")
    if code == 0:
        return told(output), None
    if code == USAGE:  # a shape for which there is not enough shared memory, say
        raise UsageError(f"{program.name} refuses its arguments.", *output.strip().splitlines()[-3:])
    failure = ExerciseFailed if exercise else InternalError
    raise failure(f"{program.name} ended with exit code {code}.", *output.strip().splitlines()[-8:])


def told(output: str) -> dict:
    """The one line of JSON among what profile_NN prints: see reference/fa/profile.h."""
    line = next((line for line in reversed(output.splitlines()) if line.startswith("{")), "")
    try:
        found = json.loads(line)
        sums = [one[name] for one in (found["formula"], found["count"] or found["formula"]) for name in SUMS]
        names = [found["format"], *found["kernels"]]
        sound = all(isinstance(one, int) for one in sums) and all(isinstance(name, str) for name in names)
    except (ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise InternalError("The program did not tell its bytes.", *output.strip().splitlines()[-5:])
    return found


def combine(lesson: Lesson, exercise: bool, arguments: list[str], shape: Shape, emulator, hardware) -> Profile:
    programs = [one[0] for one in (emulator, hardware) if one]
    formulas = [program["formula"] for program in programs]
    if any(formula != formulas[0] for formula in formulas):
        raise InternalError("The formula differs between the CPU's program and the GPU's.", *map(str, formulas))
    return Profile(
        lesson.name,
        "exercise" if exercise else "solution",
        arguments,
        shape,
        programs[0]["format"],
        formulas[0],
        emulator[0]["count"] if emulator else None,
        of_lesson(hardware[1], programs[0]["kernels"]) if hardware else None,
    )


def of_lesson(kernels: list[ncu.Kernel], names: list[str]) -> list[ncu.Kernel]:
    """Those that the program says it launches, in this order; other kernels, of a library, are none of the lesson's."""
    found = [kernel for kernel in kernels if kernel.name in map(profile_table.base_name, names)]
    if [kernel.name for kernel in found] != [profile_table.base_name(name) for name in names]:
        raise InternalError(
            "The GPU ran other kernels than the program tells.",
            f"told: {', '.join(names)}",
            f"run:  {', '.join(kernel.name for kernel in kernels)}",
        )
    return found


def commit_of(root: Path) -> str | None:
    """Git's name for what was measured; None where there is no git."""
    try:
        named = git.run(root, "describe", "--always", "--dirty", "--exclude=*")
    except OSError:
        return None
    return named.stdout.decode().strip() or None


def write(path: Path, found: Profile, commit: str | None) -> None:
    name, driver = (
        re.split(r", (?=[^,]*$)", cuda_tools.gpus()[0]) if found.hardware and cuda_tools.gpus() else (None, None)
    )
    hardware = None
    if found.hardware is not None:
        kernels = [{"name": kernel.name, **kernel.values} for kernel in found.hardware]
        hardware = {**found.hardware_total(), "kernels": kernels}
    data = {
        "lesson": found.lesson,
        "implementation": found.implementation,
        "arguments": found.arguments,
        "commit": commit,
        "gpu": name,
        "driver": driver,
        "cuda": cuda_tools.version("nvcc") if hardware else None,
        "ncu": cuda_tools.version("ncu") if hardware else None,
        "shape": asdict(found.shape),
        "format": found.format,
        "formula": found.formula,
        "emulator": found.emulator,
        "hardware": hardware,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    screen.say(f"Recorded in {path}")
