"""Asks for a line: on a terminal, or line by line from a file or a pipe."""

import sys

from . import screen
from .amount import NotUnderstood

PROMPT = "> "


def is_terminal() -> bool:
    return sys.stdin.isatty()


def line() -> str:
    """Raises EOFError at the end: Ctrl-D, or the last line of a file."""
    if is_terminal():
        try:
            return input(PROMPT).strip()
        except UnicodeDecodeError:
            return ""
        except EOFError:
            print()
            raise
    read = sys.stdin.buffer.readline()
    if not read:
        raise EOFError
    typed = read.decode(errors="replace").strip()
    screen.code(PROMPT + typed)  # so that the output can be read by itself
    return typed


def understood(answer):
    """What was typed, by `answer`; None for an empty line. On a terminal, asks again until it is understood.

    Elsewhere a line is for one question: then what is not understood counts as no answer.
    """
    while typed := line():
        try:
            given = answer.read(typed)
        except NotUnderstood as problem:
            screen.say(str(problem), indent=4)
            if is_terminal():
                continue
            return None
        screen.say(("Understood as " + answer.words(given) + ".", "dim"), indent=4)
        return given
    return None
