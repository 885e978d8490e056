"""`./course test`: all tests, against the solutions, through CTest."""

import re
import xml.etree.ElementTree as xml
from pathlib import Path

from . import gpu, process, random_settings, screen
from .build import Build
from .errors import NOT_RIGHT, InternalError
from .lessons import Lesson

_PROGRAM = re.compile(r"\d\d/[^/]*|[^/]*")
_NO_FAILURE = re.compile(
    r"( Passed|\*\*\*Skipped) +[0-9.]+ sec|^\s*Start\s+\d+:|^Test project |^\d+% tests passed|^Total Test time|"
    r"^The following tests did not run:|^\s*\d+ - .* \((Skipped|Disabled|Not Run)\)$|^\s*$"
)
# Catch2's report on SKIP("reason").
_SKIP_MESSAGE = re.compile(r"SKIPPED:\s+explicitly with message:\s+(.+)")


def test(lesson: Lesson | None, build: Build) -> int:
    """Returns CTest's exit code; NOT_RIGHT if every test was skipped, which CTest takes for success."""
    random_settings.verify()
    counts = build.logs / "ctest.xml"
    with build.locked():
        target = lesson.test_targets() if lesson else []
        built = build.target(*target, what="building the solutions and their tests")
        if not built.ok:
            build.fail(target[0] if target else "The course", built)
        counts.unlink(missing_ok=True)
        command = [
            "ctest",
            "--preset",
            build.preset,
            "--output-on-failure",
            "--no-tests=error",
            "--output-junit",
            str(counts),
        ]
        if lesson:
            command += ["--tests-regex", f"^{lesson.number}/"]
        with screen.progress("running the tests") as update:
            code, output = process.stream(
                command, build.root, build.logs / "test.log", lambda line: _show(line, update)
            )
    passed, failed, skipped = count(counts, output)
    if screen.is_plain():
        for line in by_program(counts):
            screen.code(line)
    screen.say(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    for reason in why_skipped(counts) if skipped else []:
        screen.say(f"Skipped, so it did not run: {reason}")
    if code == 0 and not failed and not passed and skipped:
        return NOT_RIGHT
    if code == 0 and (failed or not passed):
        raise InternalError("CTest reports success, and its counts do not.")
    return code


def count(path: Path, output: str) -> tuple[int, int, int]:
    """CTest's own count: passed, failed, skipped."""
    try:
        suite = xml.parse(path).getroot()
    except (OSError, xml.ParseError):
        raise InternalError("CTest ended without counting its tests.", *output.strip().splitlines()[-5:]) from None
    total, failed = int(suite.get("tests", 0)), int(suite.get("failures", 0))
    skipped = int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
    return total - failed - skipped, failed, skipped


def by_program(path: Path) -> list[str]:
    """A line for each program: its tests are named after it, 05/solution/a property or reference/a property."""
    counts: dict[str, dict[str, int]] = {}
    for case in xml.parse(path).iter("testcase"):
        program = counts.setdefault(_PROGRAM.match(case.get("name", ""))[0], {"passed": 0, "failed": 0, "skipped": 0})
        skipped = case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")
        program["skipped" if skipped else "failed" if case.get("status") == "fail" else "passed"] += 1
    wide = max(map(len, counts), default=0)
    return [
        f"{program:{wide}}  " + ", ".join(f"{number} {state}" for state, number in states.items() if number)
        for program, states in counts.items()
    ]


def why_skipped(path: Path) -> list[str]:
    """Each reason that the tests give, once."""
    told = [
        case.findtext("system-out", "") for case in xml.parse(path).iter("testcase") if case.find("skipped") is not None
    ]
    reasons = [no_gpu and f"no GPU can be used here: {no_gpu}." for no_gpu in map(gpu.why_skipped, told)]
    reasons += [found[1].strip() for found in map(_SKIP_MESSAGE.search, told) if found]
    return list(dict.fromkeys(filter(None, reasons)))


def _show(line: str, update) -> None:
    """The tests that pass or are skipped are counted and not listed; what CTest says beside the failures neither."""
    if result := re.match(r"\s*(\d+)/(\d+) Test\s+#", line):
        update(int(result[1]), int(result[2]))
    if not _NO_FAILURE.search(line):
        screen.code(line)
