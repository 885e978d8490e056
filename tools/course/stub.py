"""The stub of an exercise, as the course gave it, from git's history."""

from . import git
from .lessons import Lesson

NEWEST = 50  # versions looked at; the first of them nearly always answers


def find(lesson: Lesson) -> bytes | None:
    """The stub, or None where git does not know it (no git, or a downloaded archive).

    A student may commit work, so HEAD is not always the stub. What is given, lessons/NN_name, students do not change:
    the stub is the exercise as it was when that last changed, or a later version with as many calls of todo().
    """
    if (known := lesson.known_stub()) is not None:
        return known
    versions = _versions(lesson)
    if not versions:
        return None
    most = max(version.count(b"todo(") for version in versions)
    return next(version for version in versions if version.count(b"todo(") == most)


def why_unknown(lesson: Lesson) -> str:
    """Git's own words for why there is no stub to be had."""
    try:
        done = git.run(lesson.root, "log", "-1", "--format=%H", "--", lesson.exercise)
    except FileNotFoundError:
        return "git is not installed"
    if not lesson.in_git():
        return "this folder is not a git checkout"
    complaint = done.stderr.decode(errors="replace").strip()
    return complaint.splitlines()[0] if complaint else "git has no version of this file"


def _versions(lesson: Lesson) -> list[bytes]:
    """Committed versions of the exercise, newest first, down to the one that came with what is given now."""
    if not lesson.in_git():
        return []  # an archive unpacked inside some other repository must not be answered by that one
    try:
        given = git.run(lesson.root, "log", "-1", "--format=%H", "--", f"lessons/{lesson.name}").stdout.decode().strip()
        since = [f"{given}..HEAD"] if given else ["HEAD"]
        later = (
            git.run(lesson.root, "log", f"-{NEWEST}", "--format=%H", *since, "--", lesson.exercise)
            .stdout.decode()
            .split()
        )
        wanted = "".join(f"{commit}:{lesson.exercise}\n" for commit in [*later, given] if commit)
        return _split(git.run(lesson.root, "cat-file", "--batch", given=wanted.encode()).stdout)
    except FileNotFoundError:
        return []


def _split(batch: bytes) -> list[bytes]:
    """Takes apart the answers of git cat-file --batch: a line `<id> blob <size>`, the content, a newline."""
    found = []
    while batch:
        header, _, rest = batch.partition(b"\n")
        fields = header.split()
        if len(fields) == 3 and fields[1] == b"blob":
            size = int(fields[2])
            found.append(rest[:size])
            rest = rest[size + 1 :]
        batch = rest  # otherwise: `<name> missing`, a commit that removed the file
    return found
