"""Shows the one error for which a file does not compile or link."""

import re

from . import screen
from .compiler import CompileError, LinkError
from .lessons import Lesson

# What a message of the compiler means in this course.
_ADVICE = {
    r"deleted.*(?:SharedElement|hbm|conversion function)\b.*operator": "Write float, not auto: with auto, x in "
    "`auto x = tile[row][d]` is the place, not the number.",
}


def show(lesson: Lesson, error: CompileError | LinkError) -> None:
    if isinstance(error, CompileError):
        _compile_error(lesson, error)
    else:
        _link_error(lesson, error)


def _compile_error(lesson: Lesson, error: CompileError) -> None:
    first = error.first
    if error.reached_from:
        screen.say((f"{lesson.exercise}:{error.reached_from}", "bold"), indent=4)
        for line in _numbered(lesson, error.reached_from):
            screen.code("    " + line)
        screen.say("leads to an error in", indent=4)
    screen.say((first.place(), "bold"), indent=4)
    screen.say(first.message, indent=4)
    for line in first.excerpt or _source_line(lesson, first):
        screen.code("    " + line)
    for note in first.notes:
        screen.say(f"note: {note}", indent=4)
    for line in advice(first.message):
        screen.say(line, indent=4)


def advice(message: str) -> list[str]:
    return [words for pattern, words in _ADVICE.items() if re.search(pattern, message)]


def _source_line(lesson: Lesson, error) -> list[str]:
    if str(error.file) != lesson.exercise:
        return []
    lines = _numbered(lesson, error.line)
    if lines and error.column:
        code = lines[0].split("| ", 1)[1]
        lines.append(f"{'':5} | " + re.sub(r"[^\t]", " ", code[: error.column - 1]) + "^")
    return lines


def _numbered(lesson: Lesson, number: int) -> list[str]:
    source = lesson.read_exercise().decode(errors="replace").splitlines()
    return [f"{number:5} | {source[number - 1]}"] if 1 <= number <= len(source) else []


def _link_error(lesson: Lesson, error: LinkError) -> None:
    name = re.split(r"[(<\[]", error.symbol.replace("(anonymous namespace)::", ""))[0].split("::")[-1].split(" ")[-1]
    if error.twice:
        screen.say("This function is defined twice:", indent=4)
        screen.say((error.symbol, "bold"), indent=6)
        return
    screen.say("This function is called, and no function with this name and these parameters is defined:", indent=4)
    screen.say((error.symbol, "bold"), indent=6)
    source = lesson.read_exercise().decode(errors="replace").splitlines()
    similar = [
        number
        for number, line in enumerate(source, 1)
        if re.search(rf"\b{re.escape(name)}\s*\(", line) and not line.lstrip().startswith("//")
    ]
    if similar:
        screen.say(f"{lesson.exercise} has:", indent=4)
        for number in similar[:3]:
            screen.code("    " + _numbered(lesson, number)[0])
    headers = sorted(lesson.folder.glob("*.h"))
    if headers and error.symbol.startswith("lesson::"):
        screen.say(
            f"The name, the parameters and the namespace must be those of {headers[0].relative_to(lesson.root)}",
            indent=4,
        )
