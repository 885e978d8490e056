"""`python -m course`: runs a command; every failure becomes a message and an exit code."""

import os
import signal
import sys
import time
import traceback

from . import cli, errors, lessons, screen


def main() -> int:
    for sign in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, _leave)
    try:
        return cli.run(sys.argv[1:])
    except errors.CourseError as error:
        screen.complain(error)
        return error.code
    except KeyboardInterrupt:
        screen.errors.print("\ninterrupted")
        return errors.INTERRUPTED
    except BrokenPipeError:  # ./course | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
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
