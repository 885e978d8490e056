"""`./course check`: builds and tests one exercise, says and remembers the verdict."""

import codecs
import os
import time
from collections.abc import Callable

from . import (
    catch_xml,
    compiler,
    diagnosis,
    gpu,
    lessons,
    process,
    progress,
    random_settings,
    report,
    screen,
    verdict,
)
from .build import Build
from .errors import NOT_RIGHT, RIGHT, InternalError, UsageError
from .lessons import Lesson
from .state import State

# In seconds. The emulator takes some 15 for a lesson on a quiet machine, a third of them for its slowest test; on a busy
# one, several times that.
LIMIT = 180.0
LIMIT_OF_TEST = 60.0


def check(
    lesson: Lesson,
    step: int | None = None,
    verbose: bool = False,
    limit: float | None = None,
    sanitize: bool = False,
    on_gpu: bool = False,
    say_next: Callable[[Lesson, State, str], None] | None = None,
) -> int:
    """`say_next`: after a verdict of the emulator."""
    if step is not None and not 1 <= step <= len(lesson.steps):
        raise UsageError(f"--step {step}: lesson {lesson.number} has the steps 1 to {len(lesson.steps)}.")
    if limit is not None and not limit > 0:
        raise UsageError(f"--limit {limit:g}: must be a number of seconds above 0.")
    random_settings.verify()
    if sanitize and on_gpu:
        raise UsageError("--sanitize is for code that runs on the CPU: leave out --gpu.")
    if lesson.read_exercise().startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UsageError(f"{lesson.exercise} is encoded as UTF-16, which compilers do not read: save it as UTF-8.")
    started = time.monotonic()
    before = lesson.fingerprint()
    state = State(lesson.root)
    build = gpu.build_to_compile(lesson, "check") if on_gpu else Build(lesson.root, "sanitize" if sanitize else "cpu")
    target = f"test_exercise_{lesson.number}"
    report.heading(lesson)
    if build.preset != "cpu" and not (build.folder / "build.ninja").exists():
        screen.note(f"the first build in build/{build.preset} takes longer than those that follow.")
    with build.locked():
        if state.record(lesson).get("built") != before:
            _mind_old_timestamp(lesson, target)
        built = build.target(target, what=f"building {lesson.called}")
        if built.ok:
            state.update(lesson, built=before, **_warning(lesson, built.output))
            found = _test(lesson, build, target, step, limit)
    if verbose:
        report.verbatim(built.output)
    if built.ok:
        warning = state.record(lesson).get("warning") or ""
        report.tested(lesson, found, build, step, time.monotonic() - started, warning)
        word, steps = found.word, {str(one.number): one.state for one in found.steps}
        hint_step = diagnosis.hint_step(lesson, found, build)
    else:
        error = compiler.diagnose(built.output, lesson.root, lesson.exercise)
        if error is None:
            build.fail(target, built)
        report.does_not_compile(lesson, error)
        word, steps, hint_step = verdict.DOES_NOT_COMPILE, {}, None
    if lesson.fingerprint() != before:
        screen.note(f"{lesson.exercise} was saved during this check: check again.")
        return NOT_RIGHT
    if on_gpu:
        _say_next_on_gpu(lesson, state, word, steps, hint_step)
    elif settings := sorted(name for name in os.environ if name.startswith("FA_SIMT_")):
        screen.note(f"{', '.join(settings)} changed how the emulator ran, so this verdict is not remembered.")
    elif settings := sorted(name for name in os.environ if name.startswith(("FA_SEED", "FA_RANDOM_"))):
        screen.note(f"{', '.join(settings)} changed the inputs, so this verdict is not remembered.")
    else:
        progress.remember(state, lesson, before, word, steps, step)
        if say_next:
            say_next(lesson, state, word)
        else:
            _say_next(lesson, state, word, steps, hint_step)
    return RIGHT if word == verdict.RIGHT else NOT_RIGHT


def _warning(lesson: Lesson, output: str) -> dict:
    """To remember what the compiler warned of: it says so once, and is not run again on a file that is as it was."""
    compiled = f"exercise_{lesson.number}.dir/" in output
    return {"warning": compiler.warning(output, lesson.root, lesson.exercise)} if compiled else {}


def _hint(lesson: Lesson, steps: dict[str, str], step: int | None) -> None:
    """For this step, or else the first one that is wrong, where it is known."""
    step = step or next((number for number, state in steps.items() if state == verdict.WRONG), "")
    screen.say(f"For a hint: {lesson.for_a_hint(str(step))}")


def _say_next_on_gpu(
    lesson: Lesson, state: State, word: str, steps: dict[str, str], hint_step: int | None = None
) -> None:
    """What is remembered is the emulator's verdict: it sees more, and everybody has one."""
    if word == verdict.WRONG:
        _hint(lesson, steps, hint_step)
    elif word in (verdict.RIGHT, verdict.SKIPPED) and state.verdict(lesson) != verdict.RIGHT:
        screen.say(f"It is done when it is right on the emulator, too: {lesson.command('check')}")


def _say_next(lesson: Lesson, state: State, word: str, steps: dict[str, str], hint_step: int | None = None) -> None:
    number = lesson.number
    if word == verdict.DOES_NOT_COMPILE:
        return
    if word == verdict.WRONG:
        _hint(lesson, steps, hint_step)
    elif state.verdict(lesson) == verdict.RIGHT:
        screen.say(f"Lesson {number} is done. Measure it: ./course bench {number} --exercise")
        if following := lessons.after(lesson, lessons.load(lesson.root)):
            screen.say(f"Next: lesson {following.number}, lessons/{following.name}/README.md")
    elif step := progress.next_step(lesson, state.record(lesson)):
        title = lesson.steps[step - 1]
        screen.say(f"Next: step {step}, {title}. The text: lessons/{lesson.name}/README.md")
    else:
        screen.say(f"Every step was right when last checked. Next, all together: ./course check {number}")


def _test(lesson: Lesson, build: Build, target: str, step: int | None, limit: float | None) -> verdict.Verdict:
    command = [str(build.binary(target)), *lesson.selection(step), "--order", "decl"]
    with screen.progress(f"testing {lesson.called}"):
        run = process.limited(command, lesson.root, limit or LIMIT, limit or LIMIT_OF_TEST)
    if build.preset == gpu.PRESET and (reason := gpu.why_skipped(run.stderr)):
        return verdict.without_device(reason, lesson.steps, step)
    told = catch_xml.parse(run.report)
    _verify_start(run, told)
    random_settings.verify_taken(told.properties)
    verify_implementation(run, lesson)
    catch_xml.share_out(told, run.stdout)
    return verdict.judge(told, run, lesson.steps, step)


def _verify_start(run: process.Finished, told: catch_xml.Report) -> None:
    """A program that refuses to begin, because of a variable of the environment, say, tells why itself."""
    said = verdict.complaints(run.stderr).strip()
    if run.code > 0 and not run.timed_out and not told.properties and said and not verdict.sanitizer(run.stderr):
        raise InternalError("The test program stopped before its first test:", *said.splitlines()[-5:])


def verify_implementation(run: process.Finished, lesson: Lesson) -> None:
    """A verdict on another file than the student's would be worse than none."""
    expected = f"exercise {lesson.exercise}"
    said = next(
        (
            line.removeprefix("implementation:").strip()
            for line in run.stderr.splitlines()
            if line.startswith("implementation:")
        ),
        None,
    )
    if said is None and run.timed_out:
        raise InternalError(
            f"The test program was ended after {run.timed_out:g} s, before it said which file it tests, so there is no verdict.",
            f"Give it more time: --limit {max(LIMIT, 2 * run.timed_out):g}",
            f"Or does {lesson.exercise} define a global variable whose initialization never ends?",
        )
    if said is None:
        end = f"crashed ({process.signal_name(run.code)})" if run.code < 0 else f"ended with exit code {run.code}"
        raise InternalError(
            f"The test program {end} before it said which file it tests, so there is no verdict.",
            f"Does {lesson.exercise} define main(), or a global variable whose initialization fails?",
            "Otherwise remove the folder build/ and check again.",
            *verdict.complaints(run.stderr).strip().splitlines()[-5:],
        )
    if said != expected:
        raise InternalError(
            "The test program did not test your file, so there is no verdict.",
            f"Expected: {expected}",
            f"Tested:   {said}",
        )


def _mind_old_timestamp(lesson: Lesson, target: str) -> None:
    """A file put back by `mv` or `cp -p` may be older than what ninja would then keep, in any build folder: the program, or
    after a program that could not be linked, the object file."""
    source = lesson.root / lesson.exercise
    objects = f"CMakeFiles/{target.removeprefix('test_')}.dir/{lesson.exercise}.o"
    built = [made for kept in (f"bin/{target}", objects) for made in lesson.root.glob(f"build/*/{kept}")]
    if any(source.stat().st_mtime_ns <= made.stat().st_mtime_ns for made in built):
        os.utime(source)
