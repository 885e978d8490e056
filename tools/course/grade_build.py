"""Compiles a submission against the contract and links it with the tests of this checkout, and with nothing of its own."""

import json
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from . import compiler, grade_reading, grade_sandbox
from .build import MACHINE, Build
from .errors import InternalError
from .grade_reading import Refused
from .grade_sandbox import Limits
from .lessons import Lesson

FILE_LIMIT = 256  # MB, of an object file or a program

SHOWN = ("-fdiagnostics-color=never", "-H")  # each header, as it is opened
ALONE = "alone.o"  # a submission's object file, in which all but the contract's functions is its own

# What a submission may not use, as the compiler spells it in its symbols. All else it may define as it likes: that stays
# its own.
FORBIDDEN = {
    "N5Catch": "Catch2, with which the tests are written",
    "NK5Catch": "Catch2, with which the tests are written",
    "N2fa7grading": "fa::grading, which vouches for the tests",
    "attention_forward_oracle": "the oracle with which the tests compare",
    "attention_backward_oracle": "the oracle with which the tests compare",
    "2fa4simt8settings": "the settings of the emulator",
    "2fa4simt7publish": "what the emulator counts",
}
# Sections of ordinary code. Others could run before the tests are safe from it.
_ORDINARY = re.compile(
    r"\.(text|data|rodata|bss|tdata|tbss|init_array|fini_array|ctors|dtors|eh_frame|gcc_except_table|comment|group|debug|"
    r"note\.GNU-stack|note\.gnu\.property|llvm_addrsig|lrodata|ldata|lbss)\b"
)
_SECTION = re.compile(r"^\s*\d+ (\S+)\s+(?!0+ )[0-9a-f]{8,}", re.MULTILINE)  # one that is not empty
_MEMORY = re.compile(r"out of memory|virtual memory exhausted|cannot allocate memory|std::bad_alloc", re.IGNORECASE)


class DoesNotCompile(Exception):
    """The first error."""


class TookTooMuch(DoesNotCompile):
    """More than the limits give."""


@dataclass(frozen=True)
class Symbol:
    name: str
    kind: str  # as nm writes it: T, U, V, ...


class Workshop:
    """What a lesson's submissions are made with, once it is built."""

    def __init__(self, build: Build, lesson: Lesson, limits: Limits):
        self.lesson = lesson
        self.limits = limits
        self.folder = build.folder
        self.allowed = (lesson.folder.resolve(), (lesson.root / "reference").resolve())
        self.root = lesson.root.resolve()
        self.compile = self._compile_command()
        self.link, self.solution = self._link_command()
        self.system, self.shown = self._system_folders()
        self.contract, self.shared = self._symbols_to_keep()

    def make(self, data: bytes, folder: Path) -> Path:
        """A test program of the file, in an empty folder. The solution takes the same way."""
        source, made, assembly = (folder / name for name in (self.lesson.file, "submission.o", "submission.s"))
        source.write_bytes(data)
        dependencies = folder / "dependencies.txt"
        # In two parts, since also the assembler could be told to read files.
        places = {"-o": str(assembly), "-c": str(source)}
        command = [places.get(before, word) for before, word in zip(["", *self.compile], self.compile, strict=False)]
        command[command.index("-c")] = "-S"
        self._compile([*command, *self.shown, "-MD", "-MF", str(dependencies)], source, folder)
        listed = dependencies.read_text(encoding="utf-8", errors="replace").partition(":")[2].replace("\\\n", " ")
        read = [one.replace("\\ ", " ").replace("$$", "$") for one in re.split(r"(?<!\\)\s+", listed.strip())]
        self._check_read(read, source)
        grade_reading.check_assembly(assembly, data)
        machine = [word for word in self.compile if word.startswith("-m")]
        self._compile([self.link[0], *machine, "-c", str(assembly), "-o", str(made)], source, folder)
        return self.finish(made, folder)

    def _compile(self, command: list[str], source: Path, folder: Path) -> None:
        ran = grade_sandbox.tool(command, folder, folder, self.limits)
        if ran.timed_out:
            raise TookTooMuch(f"compiling was ended after {self.limits.seconds:g} s")
        if ran.code == 0:
            return
        # Errors can quote the file in which they are, so first of all it must be one that may be read.
        self._check_read(grade_reading.headers(ran.text), source)
        grade_reading.check_quotable(source.read_bytes())
        said = grade_sandbox.Output(ran.code, grade_reading.without_headers(ran.text), ran.timed_out)
        if _MEMORY.search(said.text):
            raise TookTooMuch(f"compiling took more than {self.limits.memory} MB")
        raise DoesNotCompile(self._first_error(said, folder))

    def finish(self, made: Path, folder: Path) -> Path:
        """Of an object file, a test program."""
        joined, alone, program = (folder / name for name in ("joined.o", ALONE, "tests"))
        cxx = self.link[0]
        self._tool(
            [
                cxx,
                "-r",
                "-nostdlib",
                "-Wl,--force-group-allocation",
                "-Wl,--build-id=none",
                str(made),
                "-o",
                str(joined),
            ],
            folder,
        )
        symbols = _symbols(joined)
        self._check(joined, symbols)
        # Whatever the file defines besides the functions of the lesson is its own, and replaces nothing elsewhere.
        # Variables of headers are weak, so that one that the course has is the one of the program.
        names = {one.name for one in symbols if one.name in self.contract}
        shared = {one.name for one in symbols if one.name in self.shared and one.kind in "uV"}
        for file, listed in (("kept.txt", names | shared), ("weak.txt", shared)):
            (folder / file).write_text("".join(f"{name}\n" for name in sorted(listed)), encoding="utf-8")
        lists = [f"--keep-global-symbols={folder}/kept.txt", f"--weaken-symbols={folder}/weak.txt"]
        self._tool(["objcopy", *lists, str(joined), str(alone)], folder)
        self._tool([*self._linking(alone, program)], folder)
        return program

    def _linking(self, made: Path, program: Path) -> list[str]:
        """The submission comes behind all other object files: of two definitions, the first one holds."""
        words = [word for word in self.link if word != self.solution]
        out = words.index("-o")
        libraries = next((at for at, word in enumerate(words) if word.endswith((".a", ".so"))), len(words))
        words[libraries:libraries] = [str(made)]
        words[out + 1] = str(program)
        return [*words, "-s"]

    def _tool(self, command: list[str], folder: Path) -> None:
        ran = grade_sandbox.tool(command, self.folder, folder, self.limits)
        if ran.timed_out:
            raise InternalError(f"{Path(command[0]).name} was ended after {self.limits.seconds:g} s.")
        if ran.code != 0:
            self._blame_machine(ran.text)
            # The solution has been linked in the same way, so it is the file that is at fault.
            missing = compiler.diagnose(ran.text, folder, ALONE)
            if isinstance(missing, compiler.LinkError):
                raise DoesNotCompile(f"{missing.symbol} is not defined")
            told = "; ".join(compiler.first_complaint(ran.text)).replace(f"{folder}/", "")
            raise DoesNotCompile(f"it cannot be linked: {told}")

    def _first_error(self, ran: grade_sandbox.Output, folder: Path) -> str:
        self._blame_machine(ran.text)
        error = compiler.diagnose(ran.text, folder, self.lesson.file)
        if isinstance(error, compiler.CompileError):
            return f"{error.first.place()}: {error.first.message}".replace(f"{self.root}/", "").replace(
                f"{folder}/", ""
            )
        if "internal compiler error" in ran.text or ran.code < 0 or ran.code > 128:
            return "the compiler crashed"
        # The solution has been compiled in the same way, so it is the file that is at fault.
        told = next(iter(compiler.first_complaint(ran.text)), "the compiler failed")  # no line of a file that it names
        return told.replace(f"{folder}/", "").replace(f"{self.root}/", "")

    def _blame_machine(self, text: str) -> None:
        for sign, message in MACHINE.items():
            if sign in text:
                raise InternalError(message)

    def _check_read(self, names: list[str], source: Path) -> None:
        """From the course, the contract and reference/; from elsewhere, what the compiler finds by itself."""
        for name in names:
            path = (source.parent / name).resolve()
            # A link in a folder of the system leads to a header of the system, wherever that lies.
            link = (source.parent / name).parent.resolve() / Path(name).name
            ours = any(path.is_relative_to(one) for one in self.allowed)
            found = any(at.is_relative_to(one) for at in (path, link) for one in self.system)
            if path != source.resolve() and not ours and (path.is_relative_to(self.root) or not found):
                shown = path.relative_to(self.root) if path.is_relative_to(self.root) else path
                where = grade_reading.at(source.read_bytes(), path.name.encode())
                raise Refused(f"includes {shown}, which is not part of the lesson{where}")

    def _check(self, made: Path, symbols: list[Symbol]) -> None:
        for one in symbols:
            if one.kind == "i":
                raise Refused("defines a function that is chosen while the program is loaded (ifunc)")
            if one.kind == "C":
                raise Refused("defines a common symbol, which the linker merges with others")
            for sign, what in FORBIDDEN.items():
                if sign in one.name:
                    raise Refused(f"uses {what}")
        for name in _SECTION.findall(_output(["objdump", "-h", "-w", str(made)])):
            if not _ORDINARY.match(name):
                raise Refused(f"has a section {name}")

    def _compile_command(self) -> list[str]:
        database = json.loads((self.folder / "compile_commands.json").read_text(encoding="utf-8"))
        wanted = f"/exercise_{self.lesson.number}.dir/"
        command = next((shlex.split(one["command"]) for one in database if wanted in one["command"]), None)
        if command is None:
            raise InternalError(f"build/{self.folder.name} does not know how {self.lesson.exercise} is compiled.")
        return command

    def _link_command(self) -> tuple[list[str], str]:
        """That of the tests of the solution, and the object file in it that a submission replaces."""
        target = f"bin/test_solution_{self.lesson.number}"
        lines = _output(["ninja", "-C", str(self.folder), "-t", "commands", target]).splitlines()
        words = next((shlex.split(part) for part in lines[-1].split(" && ") if f" -o {target}" in part), [])
        solution = [word for word in words if f"/solution_{self.lesson.number}.dir/" in word]
        if len(solution) != 1:
            raise InternalError(f"build/{self.folder.name} does not know how {target} is linked.")
        return words, solution[0]

    def _system_folders(self) -> tuple[list[Path], tuple[str, ...]]:
        """And the flags by which the compiler names its headers."""
        cxx = self.compile[0] if "ccache" not in self.compile[0] else self.compile[1]
        said = _output([cxx, "-E", "-v", "-x", "c++", "/dev/null"])
        found = (
            said.partition("search starts here:\n#include <...>")[2].partition("End of search list")[0].splitlines()[1:]
        )
        flags = [word.removeprefix("-I") for word in self.compile if word.startswith("-I")]
        flags += [word for before, word in zip(self.compile, self.compile[1:], strict=False) if before == "-isystem"]
        folders = [Path(one.strip()).resolve() for one in found] + [Path(one).resolve() for one in flags]
        system = [one for one in folders if not one.is_relative_to(self.root)]
        # Clang shows each header by the place where it was found. GCC shows where a link leads, if that is shorter.
        as_found = ("-fno-canonical-system-headers",) if "\ngcc version" in said else ()
        return [*system, Path("/usr/include/stdc-predef.h").resolve()], (*SHOWN, *as_found)

    def _symbols_to_keep(self) -> tuple[set[str], set[str]]:
        """What the tests call and the solution defines; and the variables of headers, of which a program has one each."""
        given = [self.folder / word for word in self.link if word.endswith((".o", ".a")) and word != self.solution]
        given = [one for one in given if one.is_relative_to(self.folder)]
        theirs = [one for file in given for one in _symbols(file)]
        wanted = {one.name for one in theirs if one.kind == "U"}
        contract = {one.name for one in _symbols(self.folder / self.solution) if one.kind in "TWDB"} & wanted
        return contract, {one.name for one in theirs if one.kind in "uV"}


def tests_of(lesson: Lesson, program: Path) -> dict[int, list[str]]:
    """The names of each step's tests, from the program with the solution: that of a submission could lie."""
    found: dict[int, list[str]] = {step: [] for step in range(1, len(lesson.steps) + 1)}
    for case in ElementTree.fromstring(_output([str(program), "--list-tests", "--reporter", "xml"])).iter("TestCase"):
        tag = re.search(r"\[step(\d+)\]", case.findtext("Tags", ""))
        found[int(tag[1])].append(case.findtext("Name", ""))
    for step, names in found.items():
        if not names:
            raise InternalError(f"No test of lesson {lesson.number} has the tag [step{step}].")
    return found


def _symbols(file: Path) -> list[Symbol]:
    lines = (line.split() for line in _output(["nm", "--format=posix", str(file)]).splitlines())
    return [Symbol(words[0], words[1]) for words in lines if len(words) > 1 and len(words[1]) == 1]


def _output(command: list[str]) -> str:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise InternalError(f"{command[0]} is not installed.", "To see what is missing: ./course doctor") from None
    if ran.returncode != 0:
        raise InternalError(f"{Path(command[0]).name} failed.", *compiler.first_complaint(ran.stderr))
    return ran.stdout + (ran.stderr if "-v" in command else "")
