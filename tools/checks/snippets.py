"""Code in the texts is cut from the sources, so it cannot drift.

A line `<!-- snippet: path#marker -->` is followed by a fenced block that holds the lines between `// [marker]` and `// [/marker]` of
that file, all of its lines if there is no #marker. `<!-- diff: path#marker path#marker -->` is followed by a block that holds the difference of two such snippets, and
`<!-- output: ./course demo invariant -->` by one that holds what this command prints.
`python -m checks.snippets --write` fills the blocks; without it, they are checked.
"""

import difflib
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from checks.common import ROOT, Result

DIRECTIVE = re.compile(r"^<!-- (snippet|diff|output): (\S+)(?: (\S.*))? -->$")
CPP = dict.fromkeys((".h", ".cpp", ".cu", ".cuh"), "cpp")
LANGUAGES = {**CPP, ".py": "python", ".sh": "sh", ".cmake": "cmake", ".toml": "toml", ".txt": "text"}


def snippet(reference: str) -> list[str]:
    """The lines that `path#marker` names, or all of `path`. Raises ValueError if the marker is not there exactly once."""
    path, _, marker = reference.partition("#")
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    if not marker:
        return lines
    stripped = [line.strip() for line in lines]
    ends = [stripped.count(text) for text in (f"// [{marker}]", f"// [/{marker}]")]
    if ends != [1, 1]:
        raise ValueError(f"{reference}: marker found {ends[0]} and {ends[1]} times, must be once each")
    first, last = stripped.index(f"// [{marker}]") + 1, stripped.index(f"// [/{marker}]")
    inner = [line for line in lines[first:last] if not re.fullmatch(r"// \[/?[\w-]+\]", line.strip())]
    return textwrap.dedent("\n".join(inner)).splitlines()


def output(program: str, arguments: str) -> list[str]:
    """What a command of the course prints on stdout. Raises ValueError if it is another program, or fails."""
    if program != "./course":
        raise ValueError(f"output: {program}: must be ./course")
    ran = subprocess.run(
        [ROOT / "course", *shlex.split(arguments)], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if ran.returncode != 0:
        raise ValueError(f"output: {program} {arguments}: exit code {ran.returncode}: {ran.stderr.strip()}")
    return [line.rstrip() for line in ran.stdout.strip("\n").splitlines()]


def block(kind: str, first: str, second: str | None) -> list[str]:
    """The fenced block for a directive."""
    if kind == "snippet":
        return [f"```{LANGUAGES.get(Path(first.partition('#')[0]).suffix, '')}", *snippet(first), "```"]
    if kind == "output":
        return ["```text", *output(first, second or ""), "```"]
    if second is None:
        raise ValueError(f"diff: {first}: a second path#marker is needed")
    difference = difflib.unified_diff(snippet(first), snippet(second), n=2, lineterm="")
    body = [line for line in list(difference)[2:] if not line.startswith("@@")]
    return ["```diff", *body, "```"]


def filled(text: str) -> str:
    """The text with each directive's block made anew. Raises ValueError, naming the line, if one cannot be."""
    lines = text.splitlines()
    result, at = [], 0
    while at < len(lines):
        result.append(lines[at])
        directive = DIRECTIVE.match(lines[at])
        at += 1
        if not directive:
            continue
        try:
            result.extend(block(*directive.groups()))
        except (OSError, ValueError) as error:
            raise ValueError(f"line {at}: {error}") from error
        if at < len(lines) and lines[at].startswith("```"):  # the old block
            at += 1
            while at < len(lines) and lines[at] != "```":
                at += 1
            at += 1
    return "\n".join(result) + "\n"


def texts() -> list[Path]:
    folders = [ROOT, *(ROOT / name for name in ("lessons", "reference", "plots", "tools"))]
    files = {file for folder in folders[1:] for file in folder.rglob("*.md")} | set(ROOT.glob("*.md"))
    return sorted(file for file in files if any(map(DIRECTIVE.match, file.read_text(encoding="utf-8").splitlines())))


def check(file: Path) -> Result:
    name = f"snippets of {file.relative_to(ROOT)}"
    text = file.read_text(encoding="utf-8")
    try:
        current = filled(text)
    except ValueError as error:
        return Result(name, False, str(error))
    difference = difflib.unified_diff(text.splitlines(), current.splitlines(), "text", "source", n=0, lineterm="")
    return Result(name, text == current, "\n".join(difference) + "\nrun: python -m checks.snippets --write (in tools/)")


def run() -> Iterator[Result]:
    for file in texts():
        yield check(file)


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--write"]):
        sys.exit("usage: python -m checks.snippets [--write]")
    failed = False
    for file in texts():
        if sys.argv[1:] == ["--write"]:
            file.write_text(filled(file.read_text(encoding="utf-8")), encoding="utf-8")
        elif not (result := check(file)).ok:
            failed = True
            print(f"{result.name}:\n{result.detail}")
    sys.exit(1 if failed else 0)
