"""Reads the XML of a Catch2 test program, also when a crash or a time limit has cut it off."""

import re
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from .printed import Printed

NOT_STARTED = "not started:"
NO_EXPRESSION = "{Unknown expression after the reported line}"  # an exception, thrown between two assertions
_HEXADECIMAL = re.compile(r"(?<=\d) \(0x[0-9a-f]+\)")  # 16384 (0x4000)
_BY_EMULATOR = re.compile(r"^\s+in \S.*, block \(", re.MULTILINE)  # a kernel may be fill<float, 4>


@dataclass(frozen=True)
class Failure:
    message: str
    file: str
    line: int
    context: tuple[str, ...]  # the test's INFO messages
    thrown: bool = False  # by an exception, rather than a comparison
    fatal: bool = False  # a signal ended the program here

    @property
    def not_started(self) -> bool:
        return self.message.startswith(NOT_STARTED)

    @property
    def by_emulator(self) -> bool:
        """A kernel did what it must not, and was stopped: a KernelFault tells in which block."""
        return self.thrown and _BY_EMULATOR.search(self.message) is not None


@dataclass
class Property:
    """One TEST_CASE."""

    name: str
    tags: tuple[str, ...]
    file: str
    line: int
    failures: list[Failure] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)  # those open when the report was cut off
    skipped: bool = False
    ended: bool = False  # false: the program stopped inside it
    printed: Printed = field(default_factory=Printed)  # on stdout

    @property
    def lines(self) -> list[str]:
        """Of what it printed, those of the student's that are kept: in the CUDA build "not started" stands there, too."""
        return [line for line in self.printed.lines if not line.startswith(NOT_STARTED)]

    @property
    def failure(self) -> Failure | None:
        """The first thing wrong in it."""
        return next((one for one in self.failures if not one.not_started), None)

    @property
    def state(self) -> str:
        if not self.ended or self.failure:
            return "wrong"
        if self.failures:
            return "not started"
        return "skipped" if self.skipped else "right"


@dataclass
class Report:
    properties: list[Property] = field(default_factory=list)
    complete: bool = False  # the last tag was there
    counted: int | None = None  # Catch2's own count of test cases


def parse(xml: str) -> Report:
    report = Report()
    parser = XMLPullParser(("start", "end"))
    parser.feed(xml)
    try:
        _read(parser, report)
    except ParseError:
        report.complete = False
    return report


def share_out(report: Report, stdout: list[Printed]) -> None:
    """Gives each test what was printed while it ran. Catch2 itself keeps what goes through std::cout only."""
    for one, printed in zip(report.properties, stdout, strict=False):
        one.printed = printed


def _read(parser: XMLPullParser, report: Report) -> None:
    current = None
    in_expression = False  # an Exception inside an Expression belongs to it
    infos: list[str] = []
    for event, element in parser.read_events():
        tag = element.tag
        if event == "start":
            if tag == "TestCase":
                current = _property(element)
                report.properties.append(current)
            elif tag == "Section" and current:
                current.sections.append(element.get("name", ""))
            elif tag == "Expression":
                in_expression = True
            continue
        if tag == "Catch2TestRun":
            report.complete = True
        elif tag == "OverallResultsCases":
            report.counted = sum(
                int(element.get(key, 0)) for key in ("successes", "failures", "expectedFailures", "skips")
            )
        elif current is None:
            continue
        elif tag in ("Info", "Warning"):
            infos.append(_HEXADECIMAL.sub("", _text(element)))
        elif tag in ("Failure", "Expression", "FatalErrorCondition") or (tag == "Exception" and not in_expression):
            if element.get("success") != "true":
                current.failures.append(_failure(element, infos))
            in_expression, infos = False, []
        elif tag == "Section":
            current.sections.pop()
        elif tag == "OverallResult":
            _close(current, element)
        elif tag == "TestCase":
            current = None


def _property(element: Element) -> Property:
    tags = tuple(element.get("tags", "").strip("[]").split("]["))
    return Property(element.get("name", ""), tags, element.get("filename", ""), int(element.get("line", 0)))


def _failure(element: Element, infos: list[str]) -> Failure:
    message = _text(element)
    exception = element if element.tag == "Exception" else element.find("Exception")
    if element.tag == "Expression":
        message = _expression(element, None if exception is None else _text(exception))
    elif element.tag == "Exception" and not message.startswith(NOT_STARTED) and not _BY_EMULATOR.search(message):
        message = _introduced("an exception was thrown:", message)
    return Failure(
        message,
        element.get("filename", ""),
        int(element.get("line", 0)),
        tuple(infos),
        thrown=exception is not None,
        fatal=element.tag == "FatalErrorCondition",
    )


def _expression(element: Element, thrown: str | None) -> str:
    original = element.findtext("Original", "").strip()
    expanded = _HEXADECIMAL.sub("", element.findtext("Expanded", "").strip())
    kind = element.get("type", "CHECK")
    if thrown is not None:
        if thrown.startswith(NOT_STARTED):
            return thrown
        if _BY_EMULATOR.search(thrown) and original == NO_EXPRESSION:
            return thrown
        where = "an exception" if original == NO_EXPRESSION else f"{kind}( {original} ): this exception"
        return _introduced(f"{where} was thrown:", thrown)
    if "THROWS" in kind and expanded == original:
        return f"{kind}( {original} ): no exception was thrown"
    if "THROWS" in kind:  # expanded: "the message" contains: "what is expected of it"
        message = re.fullmatch(r'"(.*)" ([a-z ]+: ".*")', expanded, re.DOTALL)
        if not message:
            return f"{kind}( {original} ): got {expanded}"
        got, expected = message.groups()
        if got.startswith(NOT_STARTED):
            return got
        return f'{kind}( {original} ): expected a message that {expected}, got "{got}"'
    return f"{kind}( {original} )" + (f": got {expanded}" if expanded != original else " is false")


def _introduced(words: str, message: str) -> str:
    """A message of several lines keeps its shape."""
    return f"{words}\n{message}" if "\n" in message else f"{words} {message}"


def _close(current: Property, element: Element) -> None:
    """Catch2 closes the test case after a signal too: that is not an ordinary end."""
    current.ended = not any(failure.fatal for failure in current.failures)
    current.skipped = int(element.get("skips", 0)) > 0
    if element.get("success") == "false" and not current.failures:
        current.failures.append(Failure("the test failed and said nothing", current.file, current.line, ()))


def _text(element: Element) -> str:
    """The text without the indentation that Catch2 gives to a single line."""
    return (element.text or "").strip("\n").strip()
