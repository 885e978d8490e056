"""How to see which of CUDA's programs are there, and whether a GPU is. Standard library only; changes nothing."""

import os
import re
import shlex
import shutil
from pathlib import Path

import packages

# Often not on the PATH: the toolkit; the driver's programs in a container, and in Windows' Linux.
FOLDERS = ("/usr/local/cuda/bin", "/usr/local/nvidia/bin", "/usr/lib/wsl/lib")


def find(name: str) -> str | None:
    """The path of a program of the CUDA toolkit or of the driver."""
    if name == "nvcc" and (chosen := os.environ.get("CUDACXX")):
        try:
            return shutil.which(shlex.split(chosen)[0])
        except (ValueError, IndexError):  # a quote that is not closed; nothing but spaces
            return None
    chosen = [str(Path(os.environ["CUDA_PATH"]) / "bin")] if os.environ.get("CUDA_PATH") else []
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join([*chosen, *FOLDERS]))


def version(name: str) -> str | None:
    """As the program tells it; None if it is not there or does not run."""
    path = find(name)
    told = packages.output(path, "--version") if path else ""
    found = re.search(r"(?:release|[Vv]ersion) ([\d.]*\d)", told)
    return found[1] if found else None


def has_gpu() -> bool:
    """Containers and Windows' Linux may have a GPU, and no nvidia-smi on the PATH."""
    return bool(gpus()) or any(Path(device).exists() for device in ("/dev/nvidia0", "/dev/dxg"))


def gpus() -> list[str]:
    """Name and driver of each GPU that nvidia-smi lists: "NVIDIA H200, 575.57.08"."""
    path = find("nvidia-smi")
    listed = packages.output(path, "--query-gpu=name,driver_version", "--format=csv,noheader") if path else ""
    return [line.strip() for line in listed.splitlines() if line.strip()]
