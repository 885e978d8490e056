"""Shows a verdict: the steps, the one thing to look at, what to do next."""

import re
from collections.abc import Iterable

from . import catch_xml, compile_report, fault, gpu, screen
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
MOST_LINES = 20  # of what a program printed


def heading(lesson: Lesson) -> None:
    screen.say((f"{lesson.number}  {lesson.title}", "bold"))
    screen.say(lesson.exercise, indent=4)


def verbatim(output: str) -> None:
    screen.code("")
    for line in output.splitlines():
        screen.code(line)


def tested(lesson: Lesson, found: Verdict, build: Build, only: int | None, seconds: float, warning: str = "") -> None:
    """`warning`: the compiler's, on the student's file."""
    screen.code("")
    wide = max(len(step.title) for step in found.steps)
    for step in found.steps:
        state = screen.mark(step.state) + step.state
        screen.say(f"step {step.number}  {step.title:{wide}}  ", (state, screen.style(step.state)), indent=4)
    screen.code("")
    if found.no_device:
        screen.say(f"It compiles. No test ran, for want of a GPU: {found.no_device}.", indent=4)
        screen.code("")
        _verdict(found.word, f"no test ran ({seconds:.1f} s)")
        return
    failed_before_stop = found.broken and not (found.stop and found.broken is found.stop.property)
    if failed_before_stop:
        _property(lesson, found.broken, found.failure, build)
    if found.stop:
        _stopped(lesson, found.stop, None if failed_before_stop else found.failure, build)
    _printed(found.complaints, "on stderr it wrote:")
    if not found.broken and not found.stop:
        _printed(found.printed)
    elif warning:
        screen.say(f"The compiler warned: {warning}", indent=4)
        screen.code("")
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
    _known_mistakes(lesson, broken.name, failure, build)
    screen.code("")
    _printed(broken.printed)


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
    if build.preset != "sanitize" and re.search("SIGSEGV|SIGABRT|SIGBUS", stop.how):
        screen.say(
            f"If something is read or written out of bounds, this shows the line: ./course check {lesson.number} --sanitize",
            indent=6,
        )
    if b"cout" in lesson.read_exercise():
        screen.say("What std::cout had to print in this test is lost: Catch2 keeps it. std::printf is not.", indent=6)
    screen.code("")
    if stop.property:
        _printed(stop.property.printed)


def _where(infos: Iterable[str]) -> None:
    """What the test tells of the case that failed; CAPTURE(N) writes `N := 17`."""
    told = [info.replace(" := ", " = ") for info in infos]
    if told:
        screen.say("where " + ", ".join(told), indent=6)


def _printed(output: str, whose: str = "it printed:") -> None:
    """The student's own debugging output: its end, which leads up to what happened."""
    lines = [line for line in output.rstrip().splitlines() if not line.startswith(catch_xml.NOT_STARTED)]
    if not lines:
        return
    screen.say(whose, indent=4)
    if len(lines) > MOST_LINES:
        screen.code(f"      ({len(lines) - MOST_LINES:,} lines before these)")
    for line in lines[-MOST_LINES:]:
        screen.code("      " + line)
    screen.code("")


def does_not_compile(lesson: Lesson, error: CompileError | LinkError) -> None:
    screen.code("")
    compile_report.show(lesson, error)
    if error.more:
        screen.say(
            f"and {_count(error.more, 'more error', 'more errors')}, which may follow from it. "
            f"All: ./course check {lesson.number} --verbose",
            indent=4,
        )
    screen.code("")
    _verdict("does not compile")


def relative(file: str, lesson: Lesson) -> str:
    return file.removeprefix(f"{lesson.root}/")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
