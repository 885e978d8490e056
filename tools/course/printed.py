"""What the tests of a program print, of which the runner keeps the first lines: a kernel may print without end."""

import re
from dataclasses import dataclass, field

KEPT = 20  # lines of a test
_CHUNK = 1024 * 1024  # bytes read at once
_LONGEST = 4096  # bytes of a line; what goes on without an end is cut into lines
_END_OF_TEST = re.compile(rb":test-result: [A-Z]+ .*\n")  # by the automake reporter


@dataclass
class Printed:
    """By one test."""

    lines: list[str] = field(default_factory=list)
    more: int = 0  # lines that are not kept

    def add(self, text: bytes) -> None:
        """Whole lines; the end of the last one may be missing."""
        total = text.count(b"\n") + (text != b"" and not text.endswith(b"\n"))
        kept = min(total, KEPT - len(self.lines))
        lines = text.split(b"\n", kept)[:kept]
        self.lines += [line[:_LONGEST].decode(errors="replace").rstrip() for line in lines]
        self.more += total - kept


def read(stream) -> list[Printed]:
    """Of each test in turn, the last of which may have been cut off. Reads to the end, and forgets."""
    tests, rest = [Printed()], b""
    while chunk := stream.read1(_CHUNK):
        text = rest + chunk
        whole = text.rfind(b"\n") + 1 or (len(text) if len(text) > _LONGEST else 0)
        _share_out(text[:whole], tests)
        rest = text[whole:]
    _share_out(rest, tests)
    return tests


def _share_out(text: bytes, tests: list[Printed]) -> None:
    first, *others = _END_OF_TEST.split(text)
    tests[-1].add(first)
    for one in others:
        tests.append(Printed())
        tests[-1].add(one)
