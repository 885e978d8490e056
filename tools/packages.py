"""What the course needs from the system: how to see whether it is there, and which packages bring it.

Nothing here changes the system; tools/bootstrap.py does. Standard library only.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Found(NamedTuple):
    version: str | None  # None: nothing there that will do
    remark: str = ""  # why what is there will not do


class Need(NamedTuple):
    name: str
    needed: str
    find: Callable[[], Found]
    package: str  # its name in Debian and Ubuntu
    without: str = ""  # what happens without it; empty: nothing works without it


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def judge(version: str, least: tuple[int, ...]) -> Found:
    if numbers(version) >= least:
        return Found(version)
    return Found(None, f"{version} is too old")


def finish(*command: str) -> subprocess.CompletedProcess | None:
    """Runs a command to its end; None if it cannot be run."""
    english = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, errors="replace", env=english)
    except OSError:
        return None


def succeeds(*command: str) -> bool:
    done = finish(*command)
    return done is not None and done.returncode == 0


def output(*command: str) -> str:
    """What a command prints, or nothing if it fails."""
    done = finish(*command)
    return done.stdout if done and done.returncode == 0 else ""


def tool(names: tuple[str, ...], *least: int) -> Found:
    """The version of the first of these programs that runs."""
    for name in names:
        if version := re.search(r"\d+(\.\d+)+", output(name, "--version")):
            return judge(version[0], least)
    return Found(None)


# In CMake's own order, then the names that carry a version.
COMPILERS = [
    *("c++", "g++", "clang++"),
    *(f"g++-{number}" for number in range(16, 10, -1)),
    *(f"clang++-{number}" for number in range(22, 13, -1)),
]
COMPILER_BANNERS = (("clang", (14,), r"clang version (\d[\d.]*)"), ("gcc", (11,), r"\) (\d+\.[\d.]+)"))


def compiler_version(command: str) -> Found:
    try:
        banner = output(*shlex.split(command), "--version")
    except ValueError:  # a quote that is not closed
        return Found(None)
    for family, least, pattern in COMPILER_BANNERS:
        if version := re.search(pattern, banner):
            found = judge(version[1], least)
            return Found(f"{family} {found.version}") if found.version else found
    return Found(None)


def choose_compiler() -> tuple[str | None, Found]:
    """The compiler to build with. None leaves the choice to CMake, because it would take the same one."""
    if wanted := os.environ.get("CXX"):
        found = compiler_version(wanted)
        if not found.version:
            found = Found(None, f"CXX={wanted}: {found.remark or 'no C++ compiler that runs'}")
        return None, found
    there = [name for name in COMPILERS if shutil.which(name)]
    remark = ""
    for name in there:
        found = compiler_version(name)
        if found.version:
            return (None if name == there[0] else name), found
        remark = remark or found.remark
    return None, Found(None, remark)


def prefixes() -> list[Path]:
    """Where CMake looks for packages: as it does, beside each bin folder on the PATH too."""
    listed = [Path(part) for part in os.environ.get("CMAKE_PREFIX_PATH", "").split(os.pathsep) if part]
    programs = [Path(part) for part in os.environ.get("PATH", "").split(os.pathsep)]
    beside = [folder.parent for folder in programs if folder.name in ("bin", "sbin")]
    return list(dict.fromkeys([*listed, *beside, Path("/usr/local"), Path("/usr")]))


def readable(folder: Path, pattern: str) -> list[str]:
    """The texts of the files below `folder` that match. What this user may not read, CMake may not read either."""
    try:
        return [path.read_text(errors="replace") for path in folder.glob(pattern)]
    except OSError:
        return []


def cmake_package(name: str, *least: int) -> Found:
    """The version of a CMake package, from the file that CMake itself reads."""
    libraries = ["lib", "lib64", "share"]
    if triplet := getattr(sys.implementation, "_multiarch", None):  # Debian's lib/x86_64-linux-gnu
        libraries.append(f"lib/{triplet}")
    best = Found(None)
    for prefix in prefixes():
        for library in libraries:
            for folder in (f"cmake/{name}*", f"{name}*/cmake"):
                for text in readable(prefix, f"{library}/{folder}/*onfig*ersion.cmake"):
                    version = re.search(r'set\(PACKAGE_VERSION "?([\d.]+)', text)
                    if version and judge(version[1], least).version:
                        return Found(version[1])
                    if version:
                        best = judge(version[1], least)
    return best


# Where the systems keep one file with all certificates, and how they call it.
BUNDLE_FOLDERS = ("/etc/ssl/certs", "/etc/ssl", "/etc/pki/tls/certs")
BUNDLE_NAMES = ("ca-*.crt", "ca-*.pem", "cert.pem")


def certificates() -> Found:
    chosen = os.environ.get("SSL_CERT_FILE")
    bundles = (path for folder in BUNDLE_FOLDERS for name in BUNDLE_NAMES for path in Path(folder).glob(name))
    there = (chosen and Path(chosen).is_file()) or any(path.is_file() for path in bundles)
    return Found("installed" if there else None)


PINNED = "CMake downloads a pinned copy when it can"


def cmake(name: str, *least: int) -> Callable[[], Found]:
    return lambda: cmake_package(name, *least)


NEEDS = (
    Need("C++ compiler", "g++ 11 or newer, or clang++ 14 or newer", lambda: choose_compiler()[1], "g++"),
    Need("CMake", "3.25 or newer", lambda: tool(("cmake",), 3, 25), "cmake"),
    Need("Ninja", "1.10 or newer", lambda: tool(("ninja", "ninja-build", "samu"), 1, 10), "ninja-build"),
    Need("Catch2", "3.4 or newer", cmake("Catch2", 3, 4), "catch2", PINNED),
    Need("Google Benchmark", "1.7 or newer", cmake("benchmark", 1, 7), "libbenchmark-dev", PINNED),
    Need("Boost.Context", "1.74 or newer", cmake("boost_context", 1, 74), "libboost-context-dev"),
    Need("Eigen", "3.4 or newer", cmake("eigen3", 3, 4), "libeigen3-dev"),
    Need("git", "any version", lambda: tool(("git",)), "git", "an exercise cannot be reset"),
    Need("certificates", "those of the system", certificates, "ca-certificates", "no download over HTTPS works"),
)


def missing_venv_package() -> str | None:
    """Debian and Ubuntu keep what `python3 -m venv` needs in a package of its own."""
    if importlib.util.find_spec("ensurepip") or sys.base_prefix != "/usr":
        return None
    return f"python{sys.version_info.major}.{sys.version_info.minor}-venv"


def python_packages(python: str) -> dict[str, str]:
    """Name and version of the packages that this Python can import."""
    program = "import importlib.metadata as m\nfor d in m.distributions(): print(d.name, d.version)"
    listed = output(python, "-c", program)
    return dict(line.split(maxsplit=1) for line in reversed(listed.splitlines()))  # of two, the first on its path wins
