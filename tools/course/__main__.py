"""`python -m course`: runs a command; every failure becomes a message and an exit code."""

import os
import signal
import sys
import time
import traceback

from . import cli, errors, lessons, screen


def main() -> int:
    _open_missing_streams()
    for sign in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, _leave)
    try:
        return _run()
    except BrokenPipeError:  # ./course | head
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())  # what is still in its buffer goes there
        return 128 + signal.SIGPIPE


def _open_missing_streams() -> None:
    """After ./course >&- there is no stdout, and the next file that is opened would get its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))


def _run() -> int:
    try:
        try:
            return cli.run(sys.argv[1:])
        finally:
            sys.stdout.flush()  # now, while a failure can still be told
    except errors.CourseError as error:
        screen.complain(error)
        return error.code
    except KeyboardInterrupt:
        screen.errors.print("\ninterrupted")
        return errors.INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:
        screen.complain(
            errors.InternalError(f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "") + ".")
        )
        return errors.INTERNAL
    except Exception as error:
        screen.complain(
            errors.InternalError(
                f"The runner itself failed: {type(error).__name__}: {error}", *_recorded(traceback.format_exc())
            )
        )
        return errors.INTERNAL


def _leave(number, frame):
    """As an exception, so that child processes are ended and the terminal is put right."""
    raise SystemExit(128 + number)


def _recorded(trace: str) -> list[str]:
    log = lessons.ROOT / ".course" / "logs" / f"failure-{time.strftime('%Y%m%d-%H%M%S')}.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(trace, encoding="utf-8")
        return [f"Please report it with {log.relative_to(lessons.ROOT)}"]
    except OSError:
        return trace.splitlines()


if __name__ == "__main__":
    sys.exit(main())
