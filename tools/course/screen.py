"""What the student sees: one console for results, one for errors, both plain when not on a terminal."""

import os
import sys
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

STYLES = {
    "right so far": "green",
    "right": "bold green",
    "wrong": "bold red",
    "does not compile": "bold red",
    "not started": "bold yellow",
    "in progress": "bold cyan",
    "changed": "cyan",
    "found": "bold green",
    "not found yet": "bold red",
}
BULLET = "· "
MARKS = {"right": "✓", "found": "✓", "wrong": "✗", "does not compile": "✗", "in progress": "…"}

# Messages contain square brackets (out[b=0, i=3]): rich must not read them as markup.
_OPTIONS = {"markup": False, "highlight": False, "emoji": False}


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # rich would exit with 1, which here means "not right"; __main__ knows the code


console = _Console(**_OPTIONS)
errors = _Console(stderr=True, **_OPTIONS)
_plain = False


def setup(plain: bool) -> None:
    """Chooses plain output: asked for, or stdout is not a terminal, or one that cannot draw a line again."""
    global console, errors, _plain
    plain = plain or os.environ.get("TERM") in ("dumb", "unknown")
    _plain = plain or not sys.stdout.isatty()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that is not UTF-8 must not end a command
    if _plain:
        # None would let FORCE_COLOR bring the colors back.
        console = _Console(force_terminal=False, no_color=True, color_system=None, **_OPTIONS)
    else:
        console = _Console(**_OPTIONS)
    if plain or not sys.stderr.isatty():
        errors = _Console(stderr=True, force_terminal=False, no_color=True, color_system=None, **_OPTIONS)
    else:
        errors = _Console(stderr=True, **_OPTIONS)


def is_plain() -> bool:
    return _plain


def width() -> int:
    return 100 if _plain else min(console.width, 100)


def text(*parts) -> Text:
    """Joins strings and (string, style) pairs."""
    return Text.assemble(*parts)


def say(*parts, indent: int = 0, hang: int = 0) -> None:
    """Prints one paragraph. A terminal wraps it at words; plain output keeps it on one line, for grep."""
    if _plain:
        line = text(*parts)
        line.rstrip()
        console.print(text(" " * indent, line) if line else line, soft_wrap=True)
        return
    paragraph(*parts, columns=console.width, indent=indent, hang=hang)


def paragraph(*parts, columns: int, indent: int = 0, hang: int = 0) -> None:
    """Prints one paragraph, wrapped at words.

    Lines after the first are indented by `hang` more; those of a bullet, "· ...", stand under its text.
    """
    line = text(*parts)
    line.rstrip()
    if not line:
        indent = 0
    hang = hang or (len(BULLET) if line.plain.startswith(BULLET) else 0)
    start = text(" " * indent, line[:hang])
    for piece in line[hang:].wrap(console, max(columns - indent - hang, 20)):
        piece.rstrip()
        console.print(text(start, piece), soft_wrap=True)
        start = " " * (indent + hang)


def code(line: str, style: str = "") -> None:
    """Prints a line as it is: program text and carets must not be wrapped."""
    console.print(Text(line, style=style), soft_wrap=True)


def complain(error) -> None:
    """Prints a CourseError."""
    errors.print(Text.assemble(("course: ", "bold red"), error.message), soft_wrap=True)
    for line in error.details:
        errors.print(Text("  " + line), soft_wrap=True)


def note(message: str) -> None:
    """Says on stderr what the runner does unasked, such as waiting or repairing. A terminal wraps it at words."""
    errors.print(Text("note: " + message), soft_wrap=errors.no_color)


def style(word: str) -> str:
    return next((STYLES[key] for key in STYLES if word.startswith(key)), "")


def mark(word: str) -> str:
    """A sign before a state, on a terminal only: plain output says it in words."""
    if _plain:
        return ""
    return next((MARKS[key] for key in MARKS if word.startswith(key)), "·") + " "


def confirm(question: str) -> bool:
    """Asks; the default is no. Only for a terminal."""
    say(question)
    try:
        return input("[y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


@contextmanager
def progress(what: str):
    """Shows a bar for long work; yields update(done, total). Plain output gets one line at the start."""
    if _plain:
        errors.print(Text(what + " ..."), soft_wrap=True)
        yield lambda done, total: None
        return
    count = TextColumn("{task.fields[count]}", markup=False)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(20),
        count,
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None, count="")
        yield lambda done, total: bar.update(task, completed=done, total=total, count=f"{done}/{total}")
