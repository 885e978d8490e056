"""Configures and builds with CMake; repairs a build folder that is stale, and says so."""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from . import compiler, locks, process, screen
from .errors import InternalError, not_writable
from .lessons import ROOT

# What the tools say when files of an interrupted build are in the way, rather than an error in a source.
_DAMAGED = re.compile(
    r"could not load cache|file truncated|file format not recognized|malformed archive|^ninja: error: ", re.MULTILINE
)
_FULL = "The disk is full."
_ROOM = 1024 * 1024  # bytes; below this, tools fail in ways that do not name the cause
_DOCTOR = "To see what is missing: ./course doctor"
MACHINE = {
    "No CMAKE_CXX_COMPILER could be found": "There is no C++ compiler.",
    "No space left on device": _FULL,
    "Read-only file system": "The course lies on a read-only file system.",
    "Killed signal terminated program": "The compiler was ended by the system: there was too little memory.",
}


@dataclass(frozen=True)
class Built:
    ok: bool
    output: str


class Build:
    def __init__(self, root: Path = ROOT, preset: str = "cpu", variables: tuple[str, ...] = ()):
        self.root = root
        self.preset = preset
        self.variables = variables  # -DNAME=VALUE, for a folder that is configured anew
        self.folder = root / "build" / preset
        self.logs = root / ".course" / "logs"
        self.log = self.logs / "build.log"

    def locked(self):
        return locks.build_folder(self.root, self.preset)

    def binary(self, target: str) -> Path:
        return self.folder / "bin" / target

    def configure(self) -> None:
        """Runs CMake if there is need to."""
        self._check_writable()
        reason = self.stale()
        if reason:
            screen.note(f"build/{self.preset} {reason}: configuring it afresh.")
            self._cmake("--fresh")
            return
        cached = (self.folder / "CMakeCache.txt").exists()
        if cached and (self.folder / "build.ninja").exists():
            return
        if not self._cmake(may_fail=cached):
            screen.note(f"build/{self.preset} could not be configured again: trying afresh.")
            self._cmake("--fresh")

    def target(self, *names: str, what: str = "") -> Built:
        """Builds targets; a failure is the caller's to explain, unless the machine or the folder is at fault."""
        self.configure()
        built = self._ninja(names, what)
        if not built.ok and _DAMAGED.search(built.output):
            state = "could not be configured again" if "CMake Error" in built.output else "holds damaged files"
            screen.note(f"build/{self.preset} {state}: building it again from nothing.")
            self._cmake("--fresh")
            built = self._ninja(names, what, "--clean-first")
        if not built.ok:
            self._blame_machine(built.output, self.log)
            if "CMake Error" in built.output:  # ninja runs CMake again when its files have changed
                self._blame_cmake(built.output, self.log)
        return built

    def program(self, name: str) -> Path:
        """Builds a program of the course itself and returns its path."""
        with self.locked():
            built = self.target(name)
        if not built.ok:
            self.fail(name, built)
        return self.binary(name)

    def fail(self, name: str, built: Built) -> None:
        """The build of something that the student does not write has failed."""
        complaint = compiler.first_complaint(built.output)
        message = f"{name} could not be built, and the cause is not in your file."
        raise InternalError(message, *complaint, self._where(self.log))

    def stale(self) -> str:
        """Why the cache cannot be used, or nothing."""
        try:
            cache = (self.folder / "CMakeCache.txt").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        entries = dict(re.findall(r"^([A-Za-z_]+):[A-Z]+=(.*)$", cache, re.MULTILINE))
        source = entries.get("CMAKE_HOME_DIRECTORY")
        if source is None:
            return "" if not (self.folder / "build.ninja").exists() else "has a damaged CMakeCache.txt"
        made_in = entries.get("CMAKE_CACHEFILE_DIR", str(self.folder))
        if Path(source).resolve() != self.root.resolve() or Path(made_in).resolve() != self.folder.resolve():
            return f"was made for {source}"
        for compiler_path in (entries.get(f"CMAKE_{language}_COMPILER", "") for language in ("CXX", "CUDA")):
            if compiler_path.startswith("/") and not Path(compiler_path).exists():
                return f"was made with {compiler_path}, which is gone"
        return ""

    def _check_writable(self) -> None:
        place = self.folder
        while not place.exists():
            place = place.parent
        if not os.access(place, os.W_OK):
            raise not_writable(str(place), "no permission, or read-only")

    def _cmake(self, *flags: str, may_fail: bool = False) -> bool:
        log = self.logs / "configure.log"
        with screen.progress(f"configuring build/{self.preset}"):
            code, output = process.stream(["cmake", "--preset", self.preset, *self.variables, *flags], self.root, log)
        if code != 0 and not may_fail:
            self._blame_machine(output, log)
            self._blame_cmake(output, log)
        return code == 0

    def _ninja(self, names: tuple[str, ...], what: str, *flags: str) -> Built:
        wanted = ["--target", *names] if names else []
        with screen.progress(what or f"building {' '.join(names) or 'everything'}") as update:

            def on_line(line: str) -> None:
                if counted := re.match(r"\[(\d+)/(\d+)\]", line):
                    update(int(counted[1]), int(counted[2]))

            command = ["cmake", "--build", "--preset", self.preset, *wanted, *flags]
            code, output = process.stream(command, self.root, self.log, on_line)
        return Built(code == 0, compiler.without_color(output))

    def _blame_machine(self, output: str, log: Path) -> None:
        """Raises if a full disk, a missing compiler or the like is why a tool failed."""
        if shutil.disk_usage(self.folder if self.folder.exists() else self.root).free < _ROOM:
            raise InternalError(_FULL, self._where(log))
        for sign, message in MACHINE.items():
            if sign in output:
                raise InternalError(message, self._where(log), _DOCTOR)

    def _blame_cmake(self, output: str, log: Path) -> NoReturn:
        error = compiler.cmake_error(output)
        raise InternalError("CMake could not configure the course.", *error, self._where(log), _DOCTOR)

    def _where(self, log: Path) -> str:
        return f"All output: {log.relative_to(self.root)}"
