"""Runs what somebody else wrote: in a process group of its own, under limits, and believes only what it cannot forge."""

import os
import secrets
import select
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from . import process
from .errors import InternalError

MOST_ANSWERS = 1 << 20  # bytes that are kept of what a test program answers
MOST_OUTPUT = 1 << 20  # bytes that are kept of what a compiler says
# Limits hold for the program and for all that it starts.
LIMITED = 'ulimit -c 0 && ulimit -v "$1" && ulimit -t "$2" && ulimit -f "$3" && shift 3 && exec "$@"'
BLOCK = 512  # bytes: the unit of ulimit -f

_running: set[subprocess.Popen] = set()
_ended = Event()


@dataclass(frozen=True)
class Limits:
    seconds: float  # of the clock; twice as many of the processor
    memory: int  # MB of address space
    file: int = 0  # MB that a file may take; 0: no file may be written

    def apply(self, command: list[str]) -> list[str]:
        numbers = (self.memory << 10, max(1, int(2 * self.seconds)), (self.file << 20) // BLOCK)
        return ["sh", "-c", LIMITED, "sh", *map(str, numbers), *command]


class DidNotStart(InternalError):
    """The test program ended before anything of the submission ran."""

    def __init__(self, stop: str):
        super().__init__(f"The test program did not start: {stop or 'it ended by itself'}.")


@dataclass(frozen=True)
class Output:
    code: int
    text: str
    timed_out: bool


@dataclass(frozen=True)
class Draw:
    """The random inputs of the tests."""

    seed: int | None  # None: those that the tests name
    cases: int = 0  # 0: as many as the lesson draws


@dataclass
class Ran:
    """Of the tests of one step."""

    ready: bool = False  # the sandbox was there before anything of the submission ran
    refused: str = ""  # or why not
    passed: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)  # what the others said; a submission may have written it
    began: list[str] = field(default_factory=list)  # in order; a submission may have written it, too
    stop: str = ""  # how the program ended, if not by itself and in order


def environment(folder: Path) -> dict[str, str]:
    """Nothing of the instructor's own."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", "HOME": str(folder), "TMPDIR": str(folder)}


def tool(command: list[str], cwd: Path, folder: Path, limits: Limits) -> Output:
    """A compiler or the like, on a file of the submission."""
    log = folder / "output.txt"
    with open(log, "wb") as output:
        child = _start(limits.apply(command), cwd, environment(folder), stdout=output, stderr=subprocess.STDOUT)
        try:
            child.wait(limits.seconds)
            timed_out = False
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            _end(child)
    with open(log, "rb") as output:
        text = output.read(MOST_OUTPUT).decode("utf-8", "replace")
    return Output(child.returncode, text, timed_out)


def tests(binary: Path, step: int, names: list[str], folder: Path, limits: Limits, draw: Draw) -> Ran:
    """The program gets a token for each test and gives it back for one that has passed: see reference/fa/grading.h."""
    tokens = {secrets.token_hex(16): name for name in names}
    from_us, to_program = os.pipe()
    from_program, to_us = os.pipe()
    own = environment(folder) | {
        "FA_GRADING": f"{from_us},{to_us}",
        "FA_SIMT_WORKERS": "1",  # of several faults, the same one is met first
    }
    if draw.seed is not None:
        own["FA_SEED"] = str(draw.seed)
    if draw.cases:
        own["FA_RANDOM_CASES"] = str(draw.cases)
    command = limits.apply([str(binary), f"[step{step}]", "--order", "decl"])
    nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        child = _start(command, folder, own, pass_fds=(from_us, to_us), **nowhere)
        os.close(from_us)
        os.close(to_us)
        with open(to_program, "wb") as pipe:
            try:
                pipe.write("".join(f"{token} {name}\n" for token, name in tokens.items()).encode())
                pipe.flush()
            except BrokenPipeError:
                pass  # it has ended before it was ready
        said, timed_out = _answers(child, from_program, limits.seconds)
    finally:
        os.close(from_program)
    ran = _read(said, tokens)
    ran.stop = _stop(child.returncode, timed_out, ran, limits)
    return ran


def end_all() -> None:
    """Ends what runs, for good: a thread that waits for it goes on, and can start nothing more."""
    _ended.set()
    for child in list(_running):
        _kill(child)


def _start(command: list[str], cwd: Path, own: dict[str, str], **options) -> subprocess.Popen:
    if _ended.is_set():
        raise InternalError("Grading was interrupted.")
    try:
        child = subprocess.Popen(command, cwd=cwd, env=own, stdin=subprocess.DEVNULL, start_new_session=True, **options)
    except OSError as error:
        raise InternalError(f"Cannot run {command[0]}: {error.strerror}.") from None
    _running.add(child)
    return child


def _end(child: subprocess.Popen) -> None:
    _kill(child)
    child.wait()
    _running.discard(child)


def _kill(child: subprocess.Popen) -> None:
    """The whole group: also what the program has started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _answers(child: subprocess.Popen, pipe: int, seconds: float) -> tuple[bytes, bool]:
    """What it writes, until it ends or is ended. The pipe is read to the end, lest a program waits for room in it."""
    said = bytearray()
    deadline = time.monotonic() + seconds
    try:
        while (left := deadline - time.monotonic()) > 0:
            if select.select([pipe], [], [], left)[0]:
                part = os.read(pipe, 1 << 16)
                if not part:
                    break
                said += part[: max(0, MOST_ANSWERS - len(said))]
        try:  # it may have closed the pipe and go on
            child.wait(max(0, deadline - time.monotonic()))
            return bytes(said), False
        except subprocess.TimeoutExpired:
            return bytes(said), True
    finally:
        _end(child)


def _read(said: bytes, tokens: dict[str, str]) -> Ran:
    ran = Ran()
    for line in said.decode("utf-8", "replace").split("\n"):
        word, _, rest = line.partition(" ")
        if line == "ready":
            ran.ready = True
        elif line.startswith("no sandbox:") and not ran.ready:
            ran.refused = line
        elif line in tokens:
            ran.passed.add(tokens[line])
        elif word == "began":
            ran.began.append(rest)
        elif word == "failed":
            name, _, message = rest.partition("\t")
            ran.failed.setdefault(name, message.replace("\\n", "\n"))
    return ran


def _stop(code: int, timed_out: bool, ran: Ran, limits: Limits) -> str:
    if timed_out:
        return f"the program was ended after {limits.seconds:g} s"
    if code in (-signal.SIGKILL, -signal.SIGXCPU):
        return "the program was ended by the system: it took too much memory, or too much time of the processor"
    if code < 0:
        return f"the program crashed ({process.signal_name(code)})"
    return ""
