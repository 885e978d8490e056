"""What was handed in: whose it is, and the one file of each lesson, read without following a link or waiting for a pipe."""

import errno
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from .errors import UsageError
from .grade_points import MISSING, NOT_GRADED, REFUSED
from .lessons import Lesson

MOST_BYTES = 1_000_000
OF_A_LESSON = re.compile(r"\b\d\d_")
MOST_FILES = 10_000  # of a folder in which one is looked for


@dataclass(frozen=True)
class Student:
    name: str  # that of the folder
    folder: Path


@dataclass(frozen=True)
class Submission:
    student: Student
    lesson: Lesson
    data: bytes | None
    word: str = ""  # where there is none: missing, refused, or not graded
    reason: str = ""


def students(paths: list[Path], lessons: list[Lesson]) -> list[Student]:
    """A path is a student's folder if it holds an exercise, else a class folder, whose subfolders are the students'."""
    found: list[Student] = []
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path}: must be a folder, of a student or of a class.")
        student = Student(path.resolve().name, path)
        if _is_students(student, lessons):
            found.append(student)
            continue
        inside = [one for one in sorted(path.iterdir()) if one.is_dir() and not one.name.startswith(".")]
        if not inside:
            raise UsageError(
                f"{path}: no exercise and no folder of a student is in it.",
                f"A student's folder holds a file such as {lessons[0].exercise}.",
            )
        found += [Student(one.name, one) for one in inside]
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"Two folders have the name {name}, which is the student's: rename one of them.")
    return sorted(found, key=lambda one: one.name)


def one_student(path: Path, lessons: list[Lesson]) -> list[Student]:
    """As `students`, but a path with whatever somebody has uploaded is that student's folder, unless it is a class folder."""
    if path.is_dir():
        inside = [Student(one.name, one) for one in path.iterdir() if one.is_dir()]
        if sum(_is_students(one, lessons) for one in inside) < 2:
            return [Student(path.resolve().name, path)]
    return students([path], lessons)


def _is_students(student: Student, lessons: list[Lesson]) -> bool:
    if os.path.lexists(student.folder / "exercises"):
        return True
    return any(os.path.lexists(student.folder / place) for one in lessons for place in _places(one, lessons))


def submitted(student: Student, lessons: list[Lesson]) -> list[Lesson]:
    """Those of which there is a file, or what should be one."""
    return [one for one in lessons if any(os.path.lexists(student.folder / place) for place in _places(one, lessons))]


def read(student: Student, lesson: Lesson, lessons: list[Lesson]) -> Submission:
    """`lessons`: those that are graded, which may share a file's name."""
    for place in _places(lesson, lessons):
        try:
            data = _read(student.folder, place)
        except FileNotFoundError:
            continue
        except _Refused as refused:
            return Submission(student, lesson, None, REFUSED, f"{place}: {refused}")
        except OSError as error:
            return Submission(student, lesson, None, NOT_GRADED, f"{place} cannot be read: {error.strerror}")
        return Submission(student, lesson, data)
    reason = f"nothing was handed in: {lesson.exercise} is missing"
    if elsewhere := _elsewhere(student.folder, lesson):
        reason += f", and {elsewhere} is not where it is looked for"
    return Submission(student, lesson, None, MISSING, reason)


def _elsewhere(folder: Path, lesson: Lesson) -> str:
    """A file that may be the exercise, as in the folder that a zip has made: for the teacher to move."""
    found, seen = [], 0
    for inside, folders, files in os.walk(folder):  # follows no link
        seen += len(folders) + len(files)
        if seen > MOST_FILES:
            break
        if lesson.file in files:
            found.append(os.path.relpath(os.path.join(inside, lesson.file), folder))
    named = [one for one in found if lesson.name in one] or [one for one in found if not OF_A_LESSON.search(one)]
    return min(named, key=lambda one: (not one.endswith(lesson.exercise), one), default="")


def _places(lesson: Lesson, lessons: list[Lesson]) -> list[str]:
    places = [lesson.exercise, f"{lesson.name}/{lesson.file}"]
    only = sum(one.file == lesson.file for one in lessons) == 1
    return [*places, lesson.file] if only else places


class _Refused(Exception):
    pass


def _read(folder: Path, place: str) -> bytes:
    """Each part of the path is opened by itself, so that none of them can be a link that leads elsewhere."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        *folders, file = place.split("/")
        for part in folders:
            inner = _open(part, os.O_DIRECTORY, at)
            os.close(at)
            at = inner
        source = _open(file, os.O_NONBLOCK, at)
        try:
            return _content(source)
        finally:
            os.close(source)
    finally:
        os.close(at)


def _open(part: str, flags: int, at: int) -> int:
    try:
        return os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=at)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _Refused("a link in place of a file or folder is not read") from None
        if error.errno in (errno.ENXIO, errno.ENODEV):
            raise _Refused("must be a file") from None
        raise


def _content(source: int) -> bytes:
    if not stat.S_ISREG(os.fstat(source).st_mode):
        raise _Refused("must be a file")
    with open(source, "rb", closefd=False) as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise _Refused(f"must be at most {MOST_BYTES:,} bytes")
    return data
