"""`./course grade`: builds and tests what students have handed in, against the tests of this checkout."""

import hashlib
import os
import sys
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from . import grade_build, grade_formats, grade_points, grade_sandbox, grade_submissions, screen
from .build import Build
from .errors import INTERNAL, InternalError, UsageError
from .grade_points import NOT_GRADED, REFUSED, LessonGrade, StepGrade
from .grade_reading import Refused
from .grade_sandbox import Limits
from .grade_submissions import Submission
from .lessons import Lesson, find
from .parser import Parser
from .verdict import DOES_NOT_COMPILE, NOT_STARTED, RIGHT, WRONG

LIMIT = 60.0  # seconds, for the tests of a step
COMPILE_LIMIT = 120.0  # at least; it has nothing to do with what is being tested
LONGEST = 86400
MEMORY = 2048  # MB of address space
MOST_CASES = 1_000_000
ATTEMPTS = 3  # to draw inputs with which the solution is right
HOME = "home"  # the folder in which the tests run

HELP = (
    "give points to what students have handed in, for instructors",
    "./course grade submissions --lesson 02 --seed autumn --json",
    "Only the exercises are taken from the submissions; tests and contracts are those of this folder. A step earns its part of "
    "the lesson's 100 points when all of its tests pass. The exit code is 0 when all was graded, whatever the points, and 3 if "
    "something could not be graded. INSTRUCTOR.md tells more.",
)


@dataclass(frozen=True)
class Options:
    paths: list[Path]
    lessons: list[Lesson]  # empty: what a student has handed in
    json: bool = False
    junit: Path | None = None
    gradescope: Path | None = None
    seed: str = ""
    limit: float = LIMIT
    memory: int = MEMORY
    random_cases: int = 0  # 0: as many as the lesson draws


def add_arguments(command: Parser, lesson: str) -> None:
    def add(name: str, meaning: str, **more) -> None:
        command.add_argument(name, help=meaning, **more)

    add("paths", "a student's folder, or a folder of such folders", nargs="+", type=Path, metavar="PATH")
    more = "(default: all that are handed in); may be given again"
    add("--lesson", f"{lesson} {more}", dest="lessons", action="append", default=[], metavar="NN")
    add("--json", "print the grades as one document", action="store_true")
    add("--junit", "also write them to FILE as JUnit XML", type=Path, metavar="FILE")
    add("--gradescope", "also write those of one student to FILE, for Gradescope", type=Path, metavar="FILE")
    drawn = "random inputs in tests are drawn from this and the student's name (default: empty)"
    add("--seed", drawn, default="", metavar="TEXT")
    limit = f"end the tests of a step after this time (default: {LIMIT:g})"
    add("--limit", limit, type=float, default=LIMIT, metavar="SECONDS")
    memory = f"the address space that a program may take (default: {MEMORY})"
    add("--memory", memory, type=int, default=MEMORY, metavar="MB")
    cases = "draw so many in the random test of a lesson, where the machine is slow (default: the lesson's own number)"
    add("--random-cases", cases, type=int, default=0, metavar="N")


def options(flags: Namespace, known: list[Lesson]) -> Options:
    wanted = [find(one, known) for one in flags.lessons]
    return Options(
        flags.paths,
        [one for one in known if one in wanted],
        flags.json,
        flags.junit,
        flags.gradescope,
        flags.seed,
        flags.limit,
        flags.memory,
        flags.random_cases,
    )


def grade(options: Options, known: list[Lesson], root: Path) -> int:
    _validate(options)
    if sys.platform != "linux":
        raise InternalError("Grading needs Linux, whose limits and filters keep a submission in its place.")
    if options.gradescope and len(options.paths) == 1:
        students = grade_submissions.one_student(options.paths[0], options.lessons or known)
    else:
        students = grade_submissions.students(options.paths, options.lessons or known)
    if options.gradescope and len(students) != 1:
        raise UsageError(f"--gradescope is for one student, and there are {len(students)}.")
    submissions = [
        grade_submissions.read(student, lesson, options.lessons or known)
        for student in students
        for lesson in options.lessons or grade_submissions.submitted(student, known)
    ]
    grades = Grader(options, root).grade(submissions)
    report = grade_formats.Report(options.seed, [one.name for one in students], grades)
    if options.json:
        print(grade_formats.as_json(report), end="", flush=True)
    else:
        grade_formats.show(report)
    # Last, so that a file that cannot be written costs no grades.
    for file, document in ((options.junit, grade_formats.junit), (options.gradescope, grade_formats.gradescope)):
        try:
            if file:
                file.write_text(document(report), encoding="utf-8")
        except OSError as error:
            raise InternalError(f"{file} could not be written: {error.strerror}.") from None
    return INTERNAL if any(one.word == NOT_GRADED for one in grades) else 0


def _validate(options: Options) -> None:
    if not 0 < options.limit <= LONGEST:
        raise UsageError(f"--limit {options.limit:g}: must be a number of seconds above 0, and at most {LONGEST}.")
    if not 256 <= options.memory <= 1 << 20:
        raise UsageError(f"--memory {options.memory}: must be a number of MB from 256 to {1 << 20}.")
    if not 0 <= options.random_cases <= MOST_CASES:
        raise UsageError(
            f"--random-cases {options.random_cases}: must be from 1 to {MOST_CASES}, or 0 for the lesson's own number."
        )
    for flag, file in (("--junit", options.junit), ("--gradescope", options.gradescope)):
        if file and (wrong := _not_writable(file)):
            raise UsageError(f"{flag} {file}: {wrong}.")
    if options.junit and options.gradescope and options.junit.resolve() == options.gradescope.resolve():
        raise UsageError(f"--junit and --gradescope {options.gradescope}: must be two files.")


def _not_writable(file: Path) -> str:
    """Why nothing could be written there, or nothing. An existing file stays as it is."""
    if file.is_dir():
        return "is a folder, and must be a file"
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_NONBLOCK))
    except FileNotFoundError:
        if not os.access(file.resolve().parent, os.W_OK | os.X_OK):
            return "must be in a folder that exists and may be written to"
    except OSError as error:
        return f"cannot be written to: {error.strerror}"
    return ""


class Grader:
    def __init__(self, options: Options, root: Path):
        self.options = options
        self.build = Build(root)
        self.limits = Limits(options.limit, options.memory)
        self.workshops: dict[str, grade_build.Workshop] = {}
        self.cases: dict[str, dict[int, list[str]]] = {}  # of a lesson, for each step the names of its tests

    def grade(self, submissions: list[Submission]) -> list[LessonGrade]:
        """In the order of the submissions. Whatever fails for one of them is told there; the others are graded. What
        would fail for all of a lesson ends it before any is graded."""
        with self.build.locked():
            for one in submissions:
                if one.data is not None and one.lesson.name not in self.workshops:
                    self.workshops[one.lesson.name] = self._set_up(one.lesson)
            with screen.progress("grading") as update, ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                graded = []
                try:
                    for number, grade in enumerate(pool.map(self._grade_one, submissions), 1):
                        graded.append(replace(grade, random_cases=self.options.random_cases))
                        update(number, len(submissions))
                except BaseException:  # Ctrl-C, too
                    grade_sandbox.end_all()
                    raise
                return graded

    def _set_up(self, lesson: Lesson) -> grade_build.Workshop:
        """Builds what the lesson's submissions need, and sees that its solution earns all points under these limits."""
        target = f"test_solution_{lesson.number}"
        built = self.build.target(target, what=f"building the tests of lesson {lesson.number}")
        if not built.ok:
            self.build.fail(target, built)
        compiling = Limits(max(COMPILE_LIMIT, self.limits.seconds), self.limits.memory, grade_build.FILE_LIMIT)
        workshop = grade_build.Workshop(self.build, lesson, compiling)
        self.cases[lesson.name] = grade_build.tests_of(lesson, self.build.binary(target))
        try:
            with screen.progress(f"trying the solution of lesson {lesson.number}"), _scratch() as folder:
                program = workshop.make((lesson.root / lesson.solution).read_bytes(), folder)
                steps = self._test(lesson, program, folder, None)
        except grade_build.TookTooMuch as error:
            raise self._too_little(lesson, str(error)) from None
        except (grade_build.DoesNotCompile, Refused) as error:
            raise InternalError(f"The solution of lesson {lesson.number}: {error}") from None
        except grade_sandbox.DidNotStart as error:
            raise self._too_little(lesson, error.message) from None
        failed = next((one for one in steps if one.state != RIGHT), None)
        if failed is None:
            return workshop
        where = f"step {failed.number}, the test: {failed.test}"
        if failed.stop or "bad_alloc" in failed.message:
            raise self._too_little(lesson, failed.message, where)
        raise InternalError(f"The solution of lesson {lesson.number} does not pass: {failed.message}", where)

    def _too_little(self, lesson: Lesson, *told: str) -> UsageError:
        """Of the limits, which are the instructor's."""
        return UsageError(
            f"The course's own solution of lesson {lesson.number} does not pass under --limit {self.limits.seconds:g} "
            f"and --memory {self.limits.memory}, so nothing was graded.",
            *told,
            "Give more of what it lacked.",
        )

    def _seed(self, one: Submission) -> int:
        return grade_points.seed_of(self.options.seed, one.student.name)

    def _grade_one(self, one: Submission) -> LessonGrade:
        seed, name = self._seed(one), one.student.name
        if one.data is None:
            return grade_points.without_tests(name, one.lesson, one.word, one.reason, seed)
        sha256 = hashlib.sha256(one.data).hexdigest()

        def without_tests(word: str, reason: str) -> LessonGrade:
            return grade_points.without_tests(name, one.lesson, word, reason, seed, sha256)

        workshop = self.workshops[one.lesson.name]
        try:
            with _scratch() as folder:
                program = workshop.make(one.data, folder)
                steps, seed = self._fairly(one.lesson, program, folder, seed)
        except grade_build.DoesNotCompile as error:
            return without_tests(DOES_NOT_COMPILE, str(error))
        except Refused as refused:
            return without_tests(REFUSED, f"{one.lesson.file} {refused}")
        except InternalError as error:
            return without_tests(NOT_GRADED, "\n".join((error.message, *error.details)))
        except OSError as error:
            return without_tests(NOT_GRADED, f"{error.strerror or error}")
        return LessonGrade(name, one.lesson, grade_points.word_of(steps), steps, seed, sha256=sha256)

    def _test(self, lesson: Lesson, program: Path, folder: Path, seed: int | None) -> tuple[StepGrade, ...]:
        """Each step in a process of its own, so that one that crashes costs no other."""
        cases = self.cases[lesson.name]
        empty = folder / HOME
        empty.mkdir(exist_ok=True)
        return tuple(
            self._step(number, title, cases[number], program, empty, seed)
            for number, title in enumerate(lesson.steps, 1)
        )

    def _fairly(self, lesson: Lesson, program: Path, folder: Path, seed: int) -> tuple[tuple[StepGrade, ...], int]:
        """A step is wrong only if the solution is right with the same inputs. If it is not, these are unlucky: a
        tolerance is too small for them, and others are drawn. Or the machine is too busy."""
        solution = self.build.binary(f"test_solution_{lesson.number}")
        cases = self.cases[lesson.name]
        for attempt in range(seed, seed + ATTEMPTS):
            steps = self._test(lesson, program, folder, attempt)
            wrong = [one for one in steps if one.state == WRONG]
            same = (
                self._step(one.number, one.title, cases[one.number], solution, folder / HOME, attempt) for one in wrong
            )
            unfair = next((one for one in same if one.state != RIGHT), None)
            if unfair is None:
                return steps, attempt
        raise InternalError(
            f"With the same inputs the course's own solution fails in step {unfair.number}, too: {unfair.message}",
            "Grade this student again, with more --limit or another --seed.",
        )

    def _step(
        self, number: int, title: str, names: list[str], program: Path, empty: Path, seed: int | None
    ) -> StepGrade:
        draw = grade_sandbox.Draw(seed, self.options.random_cases)
        ran = grade_sandbox.tests(program, number, names, empty, self.limits, draw)
        if ran.refused:
            raise InternalError(f"This machine cannot grade safely: {ran.refused}.")
        if not ran.ready:
            raise grade_sandbox.DidNotStart(ran.stop)
        missed = next((name for name in names if name not in ran.passed), None)
        if missed is None:
            return StepGrade(number, title, RIGHT, len(names), len(names))
        told = ran.failed.get(missed, "").replace(f"{program.parent}/", "")
        others = [ran.failed.get(name, "") for name in names if name not in ran.passed]
        not_started = not ran.stop and all(one.startswith("not started:") for one in others)
        state = NOT_STARTED if not_started else WRONG
        not_run = sum(name not in ran.passed and name not in ran.began for name in names)
        stop = ran.stop or ("the program ended by itself" if not_run else "")
        message = told or stop or "it did not run to its end"
        if stop and (last := next((name for name in reversed(ran.began) if name in names), "")):
            stop += f', in "{last}"'
        return StepGrade(number, title, state, len(names), len(ran.passed), missed, message, not_run, stop)


@contextmanager
def _scratch():
    """An empty folder, which is gone afterwards."""
    with TemporaryDirectory(prefix="course-grade-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()
