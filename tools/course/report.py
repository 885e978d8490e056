"""Shows a verdict: the steps, the one thing to look at, what to do next."""

import re
from collections.abc import Iterable

from . import fault, gpu, screen
from .build import Build
from .catch_xml import Failure, Property
from .compiler import CompileError, LinkError
from .lessons import Lesson
from .verdict import NOT_STARTED, RIGHT, Stop, Verdict

HINTS = {
    "SIGSEGV": "Possible causes: an index outside an array, recursion without end, a call of exit().",
    "SIGABRT": "Possible causes: an assertion, an exception that nothing catches or that leaves a noexcept function, "
    "a write outside an array that damaged the heap.",
    "SIGFPE": "A possible cause: an integer division by zero.",
    "SIGKILL": "A possible cause: too little memory. Is a size computed wrongly?",
    "SIGXFSZ": "It printed more than 64 MB.",
    "ended after": "A possible cause: a loop whose condition never becomes false. Or the machine is busy: see --limit.",
    "ended by itself": "A possible cause: a call of exit().",
}
MOST_LINES = 10


def heading(lesson: Lesson) -> None:
    screen.say((f"{lesson.number}  {lesson.title}", "bold"))
    screen.say(lesson.exercise, indent=4)


def verbatim(output: str) -> None:
    screen.code("")
    for line in output.splitlines():
        screen.code(line)


def tested(lesson: Lesson, found: Verdict, build: Build, only: int | None, seconds: float) -> None:
    screen.code("")
    wide = max(len(step.title) for step in found.steps)
    for step in found.steps:
        state = screen.mark(step.state) + step.state
        screen.say(f"step {step.number}  {step.title:{wide}}  ", (state, screen.style(step.state)), indent=4)
    screen.code("")
    failed_before_stop = found.broken and not (found.stop and found.broken is found.stop.property)
    if failed_before_stop:
        _property(lesson, found.broken, found.failure, build)
    if found.stop:
        _stopped(lesson, found.stop, None if failed_before_stop else found.failure, build)
    _verdict(found.word, f"{_counts(found, only)} ({seconds:.1f} s)", _not_started_step(found))


def _counts(found: Verdict, only: int | None) -> str:
    total = found.passed + found.failed + found.not_started + found.skipped
    properties = _count(total, "property", "properties")
    if found.stop:
        counts = [f"{found.passed} right"]
    elif found.passed and found.word != RIGHT and not only:
        right = sum(step.state == RIGHT for step in found.steps)
        counts = [f"{right} of {_count(len(found.steps), 'step', 'steps')} right", f"{found.passed} of {properties}"]
    else:
        counts = [f"{found.passed} of {properties} right"]
    others = {"wrong": found.failed, "not started": found.not_started, "skipped here": found.skipped}
    if found.word == NOT_STARTED:
        del others[NOT_STARTED]  # the rest
    counts += [f"{number} {word}" for word, number in others.items() if number]
    if found.stop:
        counts.append("the others not run")
    return (f"step {only}: " if only else "") + ", ".join(counts)


def _not_started_step(found: Verdict) -> str:
    """Where something is right already, what is not started is a step and not the lesson."""
    if found.word != NOT_STARTED or not found.passed:
        return ""
    return next((f"step {step.number} " for step in found.steps if step.state == NOT_STARTED), "")


def _verdict(word: str, rest: str = "", of: str = "") -> None:
    screen.say(("verdict: ", "bold"), (of + word, screen.style(word)), f"  {rest}" if rest else "")


def _property(lesson: Lesson, broken: Property, failure: Failure, build: Build) -> None:
    screen.say(("This must hold, and does not: ", ""), (broken.name, "bold"), indent=4)
    _message(lesson, failure)
    _where(failure.context)
    others = sum(not one.not_started for one in broken.failures) - 1
    if others:
        screen.say(f"and {_count(others, 'more failure', 'more failures')} in the same test", indent=6)
    # An assertion inside a shared function would send the reader there; the property says more.
    line = failure.line if failure.file == broken.file else broken.line
    screen.say(f"the test: {relative(broken.file, lesson)}:{line}", indent=6)
    _printed(broken.printed)
    _known_mistakes(lesson, broken.name, failure, build)
    screen.code("")


def _message(lesson: Lesson, failure: Failure) -> None:
    """Whole and in its own lines; where it names a line of the exercise, with the path, so that a click leads there."""
    for line in failure.message.splitlines():
        line = re.sub(rf"(?<![\w/]){re.escape(lesson.file)}(?=:\d)", lesson.exercise, line)
        text = line.lstrip()
        screen.say(text, indent=6 + len(line) - len(text))


def _known_mistakes(lesson: Lesson, test: str, failure: Failure, build: Build) -> None:
    """Those that break this test in the same way, as far as it is known. A GPU tells less than the emulator, so there
    all of them may be meant."""
    met = fault.classify(failure.message, failure.thrown)
    known = [one for one in lesson.mistakes if one.caught_by == test and met.kind != "exception"]
    known = known if build.preset == gpu.PRESET else fault.closest(known, met)
    if not known:
        return
    screen.code("")
    screen.say("Some mistakes that fail like this (yours may be another):", indent=4)
    for one in known:
        screen.say(screen.BULLET + one.title, indent=6)
    if len(known) == 1:
        screen.say(" ".join(known[0].why.split()), indent=8)


def _stopped(lesson: Lesson, stop: Stop, failure: Failure | None, build: Build) -> None:
    where = f" in the middle of: {stop.property.name}" if stop.property else ", outside of every test."
    screen.say(f"The program {stop.how}{where}", indent=4)
    for sign, hint in HINTS.items():
        if sign in stop.how:
            screen.say(hint, indent=6)
    if stop.said:
        screen.say(stop.said.replace(f"{lesson.root}/", ""), indent=6)
    if stop.property:
        sections = [name for name in stop.property.sections if name != stop.property.name]
        _where([*sections, *(failure.context if failure else ())])
        screen.say(f"the test: {relative(stop.property.file, lesson)}:{stop.property.line}", indent=6)
        _printed(stop.property.printed)
    if build.preset != "sanitize" and re.search("SIGSEGV|SIGABRT|SIGBUS", stop.how):
        screen.say(
            f"If something is read or written out of bounds, this shows the line: ./course check {lesson.number} --sanitize",
            indent=6,
        )
    screen.code("")


def _where(infos: Iterable[str]) -> None:
    """What the test tells of the case that failed; CAPTURE(N) writes `N := 17`."""
    told = [info.replace(" := ", " = ") for info in infos]
    if told:
        screen.say("where " + ", ".join(told), indent=6)


def _printed(output: str) -> None:
    """The student's own debugging output."""
    lines = output.splitlines()
    if lines:
        screen.say("your program printed:", indent=6)
        for line in lines[:MOST_LINES]:
            screen.code("        " + line)
        if len(lines) > MOST_LINES:
            screen.code(f"        ... and {len(lines) - MOST_LINES} more lines")


def does_not_compile(lesson: Lesson, error: CompileError | LinkError) -> None:
    screen.code("")
    if isinstance(error, CompileError):
        _compile_error(lesson, error)
    else:
        _link_error(lesson, error)
    if error.more:
        screen.say(
            f"and {_count(error.more, 'more error', 'more errors')}, which may follow from it. "
            f"All: ./course check {lesson.number} --verbose",
            indent=4,
        )
    screen.code("")
    _verdict("does not compile")


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


def relative(file: str, lesson: Lesson) -> str:
    return file.removeprefix(f"{lesson.root}/")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
