"""Errors that end a command with a message and an exit code, never with a traceback."""

RIGHT = 0
NOT_RIGHT = 1
USAGE = 2
INTERNAL = 3
INTERRUPTED = 130


class CourseError(Exception):
    """`message` is one sentence; `details` are lines shown below it (an excerpt, a path, what to do)."""

    code = INTERNAL

    def __init__(self, message: str, *details: str):
        super().__init__(message)
        self.message = message
        self.details = details


class UsageError(CourseError):
    """The command line asks for something that does not exist or is not allowed."""

    code = USAGE


class InternalError(CourseError):
    """The course itself, its set-up or the machine failed: never a verdict on the student's work."""


def not_writable(place: str, reason: str) -> InternalError:
    return InternalError(
        f"Cannot write in {place}: {reason}.", "The course needs a folder that you may write to: copy it to one."
    )
