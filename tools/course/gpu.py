"""What --gpu needs: nvcc, a GPU, a lesson in CUDA. The build folder is that of the preset cuda."""

import re
from pathlib import Path

import cuda_tools

from .build import Build
from .errors import InternalError, UsageError
from .lessons import Lesson

PRESET = "cuda"
_SKIPPED = re.compile(r"skipped: no CUDA device: (.*)")


def build(root: Path) -> Build:
    """Raises InternalError where there is no nvcc."""
    if not cuda_tools.find("nvcc"):
        raise InternalError(
            "--gpu needs a CUDA compiler, and nvcc was not found.",
            "Without --gpu no GPU and no nvcc are needed: the course runs CUDA code on the CPU.",
            "To get nvcc: install the CUDA toolkit. If it is there: put its folder on the PATH, or its path into CUDACXX.",
        )
    # For the GPU that is there and no other, which is quicker to compile.
    return Build(root, PRESET, ("-DCMAKE_CUDA_ARCHITECTURES=native",) if cuda_tools.has_gpu() else ())


def build_to_compile(lesson: Lesson, command: str) -> Build:
    """For a command that has something to say of this lesson's code on a machine without a GPU, too."""
    if not lesson.in_cuda():
        raise UsageError(
            f"--gpu: lesson {lesson.number} is not written in CUDA; its code runs on the CPU.",
            f"To run it: ./course {command} {lesson.number}",
        )
    return build(lesson.root)


def build_to_run(lesson: Lesson, command: str) -> Build:
    """For a command that runs code of this lesson on the GPU."""
    found = build_to_compile(lesson, command)
    if not cuda_tools.has_gpu():
        raise InternalError(
            "No GPU can be used here: nvidia-smi lists none.",
            f"On the CPU, without one: ./course {command} {lesson.number}",
        )
    return found


def why_skipped(output: str) -> str | None:
    """What a test program of the CUDA build says when it finds no GPU; None if it does not say that."""
    found = _SKIPPED.search(output)
    return found[1].strip() if found else None
