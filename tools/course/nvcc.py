"""Rewrites what nvcc says in the manner of gcc and clang, which compiler.py reads."""

import re
from pathlib import Path

# The front end: `/course/a.cu(7): error: identifier "x" is undefined`, `a.cu(4): warning #177-D: ...`
_DIAGNOSTIC = re.compile(
    r"^(?P<file>[^\s(][^(]*)\((?P<line>\d+)\): (?:catastrophic )?(?P<kind>error|warning|note)(?: #\d+(?:-D)?)?: (?P<message>.*)$"
)
# Below an error in a template: `... at line 6 of /course/a.cu`, or `... at line 10`, when that is the file of the error.
_REACHED_FROM = re.compile(r'^\s+.*instantiation of ".*" at line (\d+)(?: of (\S+))?$')
# ptxas knows no line of the source: `ptxas error   : Entry function '...' uses too much shared data (...)`
_PTXAS = re.compile(r"^ptxas (?:.*; )?(?:error|fatal)\s*: (?P<message>.*)$")
# ninja, before the output of a command that failed. The object file is named after its source.
_FAILED = re.compile(r"^FAILED: .*?\.dir/(?P<source>\S+)\.o\b")
_CARET = re.compile(r"^\s*\^\s*$")


def as_gcc(output: str, root: Path) -> str:
    """The output with nvcc's errors rewritten; what gcc and other tools say stays as it is."""
    lines = output.splitlines()
    result, source, at = [], "", 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if failed := _FAILED.match(line):
            source = failed["source"]
        if found := _DIAGNOSTIC.match(line):
            block = _block(lines, at)
            result += _rewritten(found, block, source, root)
            at += len(block)
        elif found := _PTXAS.match(line):
            result.append(f"{source or 'ptxas'}:0: error: {found['message']}")
        else:
            result.append(line)
    return "\n".join(result)


def _block(lines: list[str], start: int) -> list[str]:
    """The indented lines that belong to a diagnostic."""
    end = start
    while end < len(lines) and lines[end].startswith(" "):
        end += 1
    return lines[start:end]


def _rewritten(found: re.Match, block: list[str], source: str, root: Path) -> list[str]:
    caret = next((number for number, line in enumerate(block) if number and _CARET.match(line)), None)
    # What stands before the code goes on with the message: "operand types are: S < S".
    before = [] if caret is None else block[: caret - 1]
    message = "; ".join([found["message"], *(line.strip() for line in before)])
    result = [f"{found['file']}:{found['line']}: {found['kind']}: {message}"]
    if caret is not None:
        result += block[caret - 1 : caret + 1]
    if found["kind"] != "error":
        return result
    places = [(place[2] or found["file"], place[1]) for place in map(_REACHED_FROM.match, block) if place]
    if not places and source and not Path(root, found["file"]).is_relative_to(root):
        places = [(source, 0)]  # in a header of the system, and nvcc does not say from which line
    return result + [f"{file}:{line}: note: requested here" for file, line in places]
