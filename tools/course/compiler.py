"""Reads the output of gcc, clang, nvcc, the linker and CMake, and finds the one error to show."""

import os
import re
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from . import nvcc

_COLOR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x1b\]8;.*?(?:\x07|\x1b\\)")
_ERROR = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?error: (?P<message>.*)$")
_OTHER = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)? (?P<kind>warning|note): (?P<message>.*)$")
_CRASHES = "[-Wreturn-type]"  # a function that returns nothing does not end well
_NOISE = re.compile(r"\[-W(?:\S*conversion|shadow\S*|pedantic|unused\S*|comment)\]$")
# Notes that say what to write. "suggested alternatives:" is followed by a note for each, with the name alone.
_HELPFUL = re.compile(r"defined in header|did you forget|did you mean|suggested alternative|^  ‘[^’]+’$")
_PLACE = re.compile(
    r"^\s*(?:In file included from |from )?(?P<file>[^\s:][^:]*):(?P<line>\d+)(?::(?P<column>\d+))?(?=[:,]| )"
)
EXCERPT = re.compile(r"^\s*\d* \|")
_UNDEFINED = re.compile(r"undefined reference to [`'\"](?P<gnu>.+)'|undefined symbol: (?P<lld>.+)")
_TWICE = re.compile(r"multiple definition of [`'\"](?P<gnu>.+?)'|duplicate symbol: (?P<lld>.+)")


@dataclass
class Diagnostic:
    file: Path  # relative to the root if inside it
    line: int  # 0: not known
    column: int | None
    message: str
    excerpt: list[str] = field(default_factory=list)  # the source line and the caret, as the compiler drew them
    context: list[tuple[Path, int]] = field(default_factory=list)  # the places from which the error was reached
    notes: list[str] = field(default_factory=list)  # what the compiler suggests

    def place(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part)


@dataclass(frozen=True)
class CompileError:
    first: Diagnostic
    reached_from: int | None  # the student's line, if the error itself is in another file; 0: not known
    more: int


@dataclass(frozen=True)
class LinkError:
    symbol: str
    twice: bool  # defined twice, rather than nowhere
    more: int


def without_color(output: str) -> str:
    return _COLOR.sub("", output)


def diagnose(output: str, root: Path, exercise: str) -> CompileError | LinkError | None:
    """The first error that is the student's, or None if the build failed for another reason."""
    output = nvcc.as_gcc(output, root)
    student = Path(exercise)
    mine = []
    for error in _errors(output.splitlines(), root):
        if error.file == student:
            mine.append((error, None))
        else:
            lines = [line for file, line in error.context if file == student]
            if lines:
                mine.append((error, lines[-1]))
    if mine:
        return CompileError(*mine[0], more=len(mine) - 1)
    return _link_error(output, exercise)


def warning(output: str, root: Path, exercise: str) -> str:
    """The first warning on the student's file, in a line, or nothing. Those that are often noise come last, a missing
    return first."""
    found = []
    for line in nvcc.as_gcc(output, root).splitlines():
        if (one := _OTHER.match(line)) and one["kind"] == "warning" and str(_relative(one["file"], root)) == exercise:
            rank = bool(_NOISE.search(one["message"])) - one["message"].endswith(_CRASHES)
            found.append((rank, f"{exercise}:{one['line']}: {one['message']}"))
    return re.sub(r" \[-W\S+\]$", "", min(found, key=lambda one: one[0])[1]) if found else ""


def _errors(lines: list[str], root: Path) -> list[Diagnostic]:
    found = []
    context: list[tuple[Path, int]] = []
    about: Diagnostic | None = None  # the error that notes belong to
    for number, line in enumerate(lines):
        if error := _ERROR.match(line):
            column = int(error["column"]) if error["column"] else None
            found.append(
                Diagnostic(
                    _relative(error["file"], root),
                    int(error["line"]),
                    column,
                    error["message"],
                    _excerpt(lines[number + 1 :]),
                    context,
                )
            )
            context = []
            about = found[-1]
        elif other := _OTHER.match(line):
            context = []
            if other["kind"] == "warning":
                about = None
            elif about and "requested here" in line:  # clang names the places after the error, from the inside out
                place = _PLACE.match(line)
                about.context.append((_relative(place["file"], root), int(place["line"])))
            elif about and _HELPFUL.search(other["message"]):
                about.notes.append(other["message"].rstrip())
        elif line.startswith(("[", "FAILED:")):
            context, about = [], None
        elif not EXCERPT.match(line) and (place := _PLACE.match(line)):
            context = [*context, (_relative(place["file"], root), int(place["line"]))]
    return found


def _excerpt(following: list[str]) -> list[str]:
    """gcc and new clang write `12 | code` and `   | ^`; clang before 16 writes the code and the caret alone."""
    drawn = []
    for line in following[:4]:
        if EXCERPT.match(line):
            drawn.append(line)
            if "^" in line.split("|", 1)[1]:
                return drawn
        else:
            break
    if drawn:
        return drawn
    if len(following) > 1 and re.fullmatch(r"[ \t~]*\^[~ ]*", following[1]):
        return following[:2]
    return []


def _link_error(output: str, exercise: str) -> LinkError | None:
    missing, twice = [], []
    lines = output.splitlines()
    owner = ""  # the object file that GNU's linker speaks of; lld names it in `>>>` lines below the error
    for number, line in enumerate(lines):
        if "in function `" in line:
            owner = line
        for pattern, found in ((_UNDEFINED, missing), (_TWICE, twice)):
            if match := pattern.search(line):
                symbol = match["gnu"] or match["lld"]
                below = takewhile(lambda one: one.startswith(">>>"), lines[number + 1 :])
                theirs = symbol.startswith("lesson::") or exercise in " ".join((owner, line, *below))
                if theirs and symbol not in found:
                    found.append(symbol)
    if missing:
        return LinkError(missing[0], False, len(missing) - 1)
    if twice:
        return LinkError(twice[0], True, len(twice) - 1)
    return None


def first_complaint(output: str) -> list[str]:
    """A few lines that say why a build of the course itself failed."""
    lines = nvcc.as_gcc(output, Path("/")).splitlines()
    for number, line in enumerate(lines):
        if _ERROR.match(line):
            return [line, *_excerpt(lines[number + 1 :])]
    wanted = [line for line in lines if re.search(r"undefined reference|undefined symbol|error:|Error ", line)]
    return wanted[:3] or lines[-3:]


def cmake_error(output: str) -> list[str]:
    """The first error of CMake, without what it says around it."""
    lines = without_color(output).splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith("CMake Error")), None)
    if start is None:
        return [line for line in lines if line.strip()][-6:]
    shown = [lines[start]]
    for line in lines[start + 1 :]:
        if line.startswith(("CMake ", "-- ", "Call Stack", "See also")) or len(shown) == 12:
            break
        if line.strip():
            shown.append(line)
    return shown


def _relative(file: str, root: Path) -> Path:
    path = Path(file)
    if not path.is_absolute():
        return path
    for base in (root, root.resolve()):
        try:
            return path.relative_to(base)
        except ValueError:
            continue
    try:
        return path.resolve().relative_to(root.resolve())
    except ValueError:
        return Path(os.path.normpath(path))
