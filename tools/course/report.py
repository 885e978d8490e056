"""Shows a verdict: the steps, the one thing to look at, what to do next."""

import re
from collections.abc import Iterable

from . import compile_report, compiler, diagnosis, fault, printed, screen, unwritten
from .build import Build
from .catch_xml import Failure, Property
from .compiler import CompileError, LinkError
from .lessons import Lesson
from .verdict import NOT_STARTED, RIGHT, RIGHT_SO_FAR, WRONG, Stop, Verdict

HINTS = {
    "SIGSEGV": "Possible causes: an index outside an array, recursion without end, a call of exit().",
    "SIGABRT": "Possible causes: an assertion, an exception that nothing catches or that leaves a noexcept function, "
    "a write outside an array that damaged the heap.",
    "SIGILL": "Possible causes: a function that ends without a return, a division by zero that the compiler saw.",
    "SIGFPE": "A possible cause: an integer division by zero.",
    "SIGKILL": "A possible cause: too little memory. Is a size computed wrongly?",
    "ended after": "A possible cause: a loop whose condition never becomes false. Or the machine is busy: see --limit.",
    "ended by itself": "A possible cause: a call of exit().",
}


def heading(lesson: Lesson) -> None:
    screen.say((f"{lesson.label}  {lesson.title}", "bold"))
    screen.say(lesson.exercise, indent=4)


def verbatim(output: str) -> None:
    """What the compiler says, without the command that ran it, which ninja prints after "FAILED: ..."."""
    screen.code("")
    lines = output.splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        text = line.lstrip()
        if compiler.EXCERPT.match(line):
            screen.code(line)
        elif not before.startswith("FAILED:"):
            screen.say(text, indent=len(line) - len(text))


def tested(lesson: Lesson, found: Verdict, build: Build, only: int | None, seconds: float, warning: str = "") -> None:
    """`warning`: the compiler's, on the student's file."""
    screen.code("")
    wide = max((len(step.title) for step in found.steps), default=0)
    for step in found.steps:
        word = RIGHT_SO_FAR if step.state == RIGHT and unwritten.later_steps(lesson, step.number) else step.state
        state = screen.mark(word) + word
        screen.say(f"step {step.number}  {step.title:{wide}}  ", (state, screen.style(word)), indent=4)
    if found.steps:
        screen.code("")
    if found.no_device:
        screen.say(f"It compiles. No test ran, for want of a GPU: {found.no_device}.", indent=4)
        screen.code("")
        _verdict(found.word, f"no test ran ({seconds:.1f} s)")
        return
    if warning and found.word == WRONG:  # it may be the cause
        screen.say(f"The compiler warned: {warning}", indent=4)
        screen.code("")
    failed_before_stop = found.broken and not (found.stop and found.broken is found.stop.property)
    if failed_before_stop:
        _property(lesson, found, build)
    if found.stop:
        _stopped(lesson, found.stop, None if failed_before_stop else found.failure, build)
    _complaints(found.complaints)
    if found.talker and not found.broken and not found.stop:
        _printed(lesson, found.talker)
    open_step = _not_started_step(found)
    parts = unwritten.regions(lesson, open_step) if open_step else []
    if any(one.part for one in parts):
        screen.say(f"Not written yet: {', '.join(map(str, parts))}", indent=4)
        screen.code("")
    word, counts = found.word, _counts(found, only)
    later = unwritten.later_steps(lesson, found.steps[-1].number) if word == RIGHT and found.steps else []
    if later:
        word, counts = RIGHT_SO_FAR, f"{counts}; {unwritten.said(later)}"
    # Where something is right already, what is not started is a step and not the lesson.
    of = f"step {open_step} " if open_step and found.passed else ""
    _verdict(lesson.in_words(word), f"{counts} ({seconds:.1f} s)", of)


def _counts(found: Verdict, only: int | None) -> str:
    total = found.passed + found.failed + found.not_started + found.skipped
    properties = _count(total, "property", "properties")
    if found.stop:
        counts = [f"{found.passed} right"]
    elif found.passed and found.word != RIGHT and found.steps and not only:
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


def _not_started_step(found: Verdict) -> int | None:
    """The first of them, where nothing is wrong."""
    open_steps = [step.number for step in found.steps if step.state == NOT_STARTED]
    return open_steps[0] if found.word == NOT_STARTED else None


def _verdict(word: str, rest: str = "", of: str = "") -> None:
    screen.say(("verdict: ", "bold"), (of + word, screen.style(word)), f"  {rest}" if rest else "")


def _property(lesson: Lesson, found: Verdict, build: Build) -> None:
    broken, failure = found.broken, found.failure
    screen.say("This must hold, and does not:", indent=4)
    screen.say((broken.name, "bold"), indent=6)
    _message(lesson, diagnosis.without_alone(failure.message))
    if command := diagnosis.alone(lesson, broken, failure, build):
        screen.say("This case alone:", indent=6)
        screen.code(" " * 6 + command)
    _where(failure.context)
    others = sum(not one.not_started for one in broken.failures) - 1
    if others:
        screen.say(f"and {_count(others, 'more failure', 'more failures')} in the same test", indent=6)
    # An assertion inside a shared function would send the reader there; the property says more.
    line = failure.line if failure.file == broken.file else broken.line
    screen.say(f"the test: {relative(broken.file, lesson)}:{line}", indent=6)
    diagnosis.show(lesson, found, build)
    screen.code("")
    _printed(lesson, broken)


def _message(lesson: Lesson, message: str) -> None:
    """Whole and in its own lines; where it names a line of the exercise, with the path, so that a click leads there."""
    for line in message.splitlines():
        line = re.sub(rf"(?<![\w/]){re.escape(lesson.file)}(?=:\d)", lesson.exercise, line)
        text = line.lstrip()
        screen.say(text, indent=6 + len(line) - len(text))


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
            f"If something is read or written out of bounds, this shows the line: {lesson.command('check')} --sanitize",
            indent=6,
        )
    if b"cout" in lesson.read_exercise():
        screen.say("What std::cout had to print in this test is lost: Catch2 keeps it. std::printf is not.", indent=6)
    screen.code("")
    if stop.property:
        _printed(lesson, stop.property)


def _where(infos: Iterable[str]) -> None:
    """What the test tells of the case that failed; CAPTURE(N) writes `N := 17`."""
    told = [fault.readable(one) for one in infos]
    if told:
        screen.say("where " + ", ".join(told), indent=6)


def _printed(lesson: Lesson, test: Property) -> None:
    """The student's own debugging output: its beginning, where a kernel that prints from every thread is not yet lost."""
    if not test.lines:
        return
    screen.say(f"it printed, in {test.name}:" if test.state == RIGHT else "it printed:", indent=4)
    for line in test.lines:
        screen.code("      " + line)
    if more := test.printed.more:
        screen.code(f"      (and {_count(more, 'line', 'lines')} more)")
        if lesson.in_cuda():
            screen.say("To print less, let one thread print: if (threadIdx.x == 0)", indent=6)
    screen.code("")


def _complaints(stderr: str) -> None:
    """The end of them: there, a program says why it stops."""
    lines = stderr.rstrip().splitlines()
    if not lines:
        return
    screen.say("on stderr it wrote:", indent=4)
    if len(lines) > printed.KEPT:
        screen.code(f"      ({len(lines) - printed.KEPT:,} lines before these)")
    for line in lines[-printed.KEPT :]:
        screen.code("      " + line)
    screen.code("")


def does_not_compile(lesson: Lesson, error: CompileError | LinkError) -> None:
    screen.code("")
    compile_report.show(lesson, error)
    if error.more:
        screen.say(
            f"and {_count(error.more, 'more error', 'more errors')}, which may follow from it. "
            f"All: {lesson.command('check')} --verbose",
            indent=4,
        )
    screen.code("")
    _verdict("does not compile")


def relative(file: str, lesson: Lesson) -> str:
    return file.removeprefix(f"{lesson.root}/")


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
