"""Child processes that never outlive the runner: Ctrl-C, a closed terminal and time limits end the whole group."""

import os
import resource
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from . import printed
from .errors import InternalError

MOST_OUTPUT = 64 * 1024 * 1024  # bytes that a tested program may write to a file; stderr is one
TICK = 0.5  # seconds between two looks at the time


@dataclass(frozen=True)
class Finished:
    code: int  # negative: ended by that signal
    stdout: list[printed.Printed]  # for each test
    stderr: str
    report: str  # Catch2's, in XML
    timed_out: float = 0  # the seconds after which it was ended; 0: it was not


@contextmanager
def _child(command: list[str], **options):
    try:
        child = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, **options)
    except FileNotFoundError:
        raise InternalError(
            f"{Path(command[0]).name} is not installed.", "To see what is missing: ./course doctor"
        ) from None
    except OSError as error:
        raise InternalError(
            f"Cannot run {command[0]}: {error.strerror}.",
            "If it lies in build/, remove it: the next check builds it again.",
        ) from None
    try:
        yield child
    finally:
        if child.poll() is None:
            _end(child)
        _signal_group(child, signal.SIGKILL)  # what the child has started may have outlived it
        if child.stdout:
            child.stdout.close()


def _end(child: subprocess.Popen) -> None:
    """Asks first: an interrupted ninja removes its half-written files."""
    for sign in (signal.SIGINT, signal.SIGKILL):
        _signal_group(child, sign)
        try:
            child.wait(3)
            return
        except subprocess.TimeoutExpired:
            continue


def _signal_group(child: subprocess.Popen, sign: signal.Signals) -> None:
    try:
        os.killpg(child.pid, sign)
    except ProcessLookupError:
        pass


def stream(command: list[str], root: Path, log: Path, on_line=lambda line: None) -> tuple[int, str]:
    """Runs a build tool: each line goes to on_line at once, everything to the log. Returns the code and the output."""
    # English messages, whatever the student's language is: the runner reads them. Another PWD would make CMake prefer a
    # symbolic link.
    environment = os.environ | {"LC_ALL": "C.UTF-8", "NINJA_STATUS": "[%f/%t] ", "PWD": str(root)}
    log.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    with open(log, "w", encoding="utf-8") as file:
        file.write("$ " + " ".join(command) + "\n")
        with _child(
            command,
            cwd=root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as child:
            for line in child.stdout:
                lines.append(line)
                file.write(line)
                on_line(line.rstrip("\n"))
            code = child.wait()
    return code, "".join(lines)


def limited(command: list[str], root: Path, seconds: float, of_test: float | None = None) -> Finished:
    """Runs a test program of Catch2 under limits on its time, on that of one test, and on what it writes to files.

    Its report goes to a file, so that stdout is the student's. There, a line of the automake reporter ends each test.
    """
    with TemporaryDirectory(prefix="course-") as folder:
        paths = {name: Path(folder, name) for name in ("stderr", "report")}
        with _first_lines() as (stdout, kept), open(paths["stderr"], "wb") as stderr:
            reporters = ["--reporter", f"xml::out={paths['report']}", "--reporter", "automake"]
            with _child([*command, *reporters], cwd=root, stdout=stdout, stderr=stderr) as child:
                _limit_output(child.pid)
                timed_out = _wait(child, paths["report"], seconds, of_test or seconds)
                code = child.wait()
        read = {
            name: path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
            for name, path in paths.items()
        }
    return Finished(code, kept, read["stderr"], read["report"], timed_out)


def _wait(child: subprocess.Popen, report: Path, seconds: float, of_test: float) -> float:
    """Until it ends, or is ended: then the limit that it passed. The report grows when a test begins."""
    started = began = time.monotonic()
    size = 0
    while True:
        try:
            child.wait(min(seconds, of_test, TICK))
            return 0
        except subprocess.TimeoutExpired:
            now = time.monotonic()
        if report.exists() and report.stat().st_size != size:
            size, began = report.stat().st_size, now
        if now - started >= seconds or now - began >= of_test:
            _signal_group(child, signal.SIGKILL)
            return seconds if now - started >= seconds else of_test


@contextmanager
def _first_lines():
    """Yields a pipe to print to, and a list that holds what printed.read() kept of it once this has ended."""
    reading, writing = os.pipe()
    kept = []
    with open(reading, "rb") as source:
        reader = Thread(target=lambda: kept.extend(printed.read(source)))
        reader.start()
        try:
            yield writing, kept
        finally:
            os.close(writing)  # the child has ended, so this was the last one
            reader.join()


def _limit_output(pid: int) -> None:
    """A loop that prints for ever must not fill the disk."""
    try:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (MOST_OUTPUT, MOST_OUTPUT))
    except (ProcessLookupError, PermissionError):
        pass  # it has ended already, or the system forbids it: the time limit still holds


def signal_name(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
