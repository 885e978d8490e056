"""`./course grade`: builds and tests what students have handed in, against the tests of this checkout."""

import hashlib
import os
import sys
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from . import grade_build, grade_formats, grade_points, grade_sandbox, grade_submissions, screen
from .build import Build
from .errors import INTERNAL, InternalError, UsageError
from .grade_points import NOT_GRADED, REFUSED, LessonGrade, StepGrade
from .grade_sandbox import Limits
from .grade_submissions import Submission
from .lessons import Lesson, find
from .parser import Parser
from .verdict import DOES_NOT_COMPILE, NOT_STARTED, RIGHT, WRONG

LIMIT = 60.0  # seconds, for the tests of a step
COMPILE_LIMIT = 120.0  # at least; it has nothing to do with what is being tested
LONGEST = 86400
MEMORY = 2048  # MB of address space

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
    if options.junit:
        options.junit.write_text(grade_formats.junit(report), encoding="utf-8")
    if options.gradescope:
        options.gradescope.write_text(grade_formats.gradescope(report), encoding="utf-8")
    return INTERNAL if any(one.word == NOT_GRADED for one in grades) else 0


def _validate(options: Options) -> None:
    if not 0 < options.limit <= LONGEST:
        raise UsageError(f"--limit {options.limit:g}: must be a number of seconds above 0, and at most {LONGEST}.")
    if not 256 <= options.memory <= 1 << 20:
        raise UsageError(f"--memory {options.memory}: must be a number of MB from 256 to {1 << 20}.")
    for flag, file in (("--junit", options.junit), ("--gradescope", options.gradescope)):
        if file and (file.is_dir() or not os.access(file.resolve().parent, os.W_OK)):
            raise UsageError(f"{flag} {file}: must be a file in a folder that exists and may be written to.")


class Grader:
    def __init__(self, options: Options, root: Path):
        self.options = options
        self.build = Build(root)
        self.limits = Limits(options.limit, options.memory)
        self.workshops: dict[str, grade_build.Workshop | InternalError] = {}
        self.cases: dict[str, dict[int, list[str]]] = {}  # of a lesson, for each step the names of its tests

    def grade(self, submissions: list[Submission]) -> list[LessonGrade]:
        """In the order of the submissions. Whatever fails for one of them is told there; the others are graded."""
        with self.build.locked():
            for one in submissions:
                if one.data is not None and one.lesson.name not in self.workshops:
                    self.workshops[one.lesson.name] = self._set_up(one)
            with screen.progress("grading") as update, ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                graded = []
                try:
                    for number, grade in enumerate(pool.map(self._grade_one, submissions), 1):
                        graded.append(grade)
                        update(number, len(submissions))
                except BaseException:  # Ctrl-C, too
                    grade_sandbox.end_all()
                    raise
                return graded

    def _set_up(self, first: Submission) -> grade_build.Workshop | InternalError:
        """Builds what the lesson's submissions need, and sees that its solution earns all points under these limits."""
        lesson = first.lesson
        target = f"test_solution_{lesson.number}"
        try:
            built = self.build.target(target, what=f"building the tests of lesson {lesson.number}")
            if not built.ok:
                self.build.fail(target, built)
            compiling = Limits(max(COMPILE_LIMIT, self.limits.seconds), self.limits.memory, grade_build.FILE_LIMIT)
            workshop = grade_build.Workshop(self.build, lesson, compiling)
            self.cases[lesson.name] = grade_build.tests_of(lesson, self.build.binary(target))
            with screen.progress(f"trying the solution of lesson {lesson.number}"), _scratch() as folder:
                program = workshop.finish(self.build.folder / workshop.solution, folder)
                steps = self._test(lesson, program, folder, self._seed(first))
            if failed := next((one for one in steps if one.state != RIGHT), None):
                raise InternalError(
                    f"The solution of lesson {lesson.number} does not pass on this machine: {failed.message}",
                    f"the test: {failed.test}",
                    "Does it need more --limit or more --memory?",
                )
            return workshop
        except InternalError as error:
            return error
        except (grade_build.DoesNotCompile, grade_build.Refused) as error:
            return InternalError(f"The solution of lesson {lesson.number}: {error}")

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
            if isinstance(workshop, InternalError):
                raise workshop
            with _scratch() as folder:
                program = workshop.make(one.data, folder)
                steps = self._test(one.lesson, program, folder, seed)
        except grade_build.DoesNotCompile as error:
            return without_tests(DOES_NOT_COMPILE, str(error))
        except grade_build.Refused as refused:
            return without_tests(REFUSED, f"{one.lesson.file} {refused}")
        except InternalError as error:
            return without_tests(NOT_GRADED, "\n".join((error.message, *error.details)))
        except OSError as error:
            return without_tests(NOT_GRADED, f"{error.strerror or error}")
        return LessonGrade(name, one.lesson, grade_points.word_of(steps), steps, seed, sha256=sha256)

    def _test(self, lesson: Lesson, program: Path, folder: Path, seed: int) -> tuple[StepGrade, ...]:
        """Each step in a process of its own, so that one that crashes costs no other."""
        cases = self.cases[lesson.name]
        empty = folder / "home"
        empty.mkdir()
        return tuple(
            self._step(number, title, cases[number], program, empty, seed)
            for number, title in enumerate(lesson.steps, 1)
        )

    def _step(self, number: int, title: str, names: list[str], program: Path, empty: Path, seed: int) -> StepGrade:
        ran = grade_sandbox.tests(program, number, names, empty, self.limits, seed)
        if ran.refused:
            raise InternalError(f"This machine cannot grade safely: {ran.refused}.")
        if not ran.ready:
            raise InternalError("The test program did not start." + (f" {ran.stop}." if ran.stop else ""))
        missed = next((name for name in names if name not in ran.passed), None)
        if missed is None:
            return StepGrade(number, title, RIGHT, len(names), len(names))
        message = (
            ran.failed.get(missed, "").replace(f"{program.parent}/", "") or ran.stop or "it did not run to its end"
        )
        others = [ran.failed.get(name, "") for name in names if name not in ran.passed]
        not_started = not ran.stop and all(one.startswith("not started:") for one in others)
        return StepGrade(
            number, title, NOT_STARTED if not_started else WRONG, len(names), len(ran.passed), missed, message
        )


@contextmanager
def _scratch():
    """An empty folder, which is gone afterwards."""
    with TemporaryDirectory(prefix="course-grade-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()
