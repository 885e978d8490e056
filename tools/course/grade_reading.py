"""What may be read while a submission is compiled: headers of the course and of the system, and no other file.

Another file could come into the program, or into an error, which quotes the line: the text of --seed, another student's file.
"""

import mmap
import re
from pathlib import Path

# By these the assembler reads a file, or makes words that are not in its input as they stand.
_READS = re.compile(rb"(?<![\w.$@])\.(?:incbin|include|macro|irpc?|altmacro|mri)\b", re.IGNORECASE)
_STRING = re.compile(rb'\s*\.(?:string|ascii|asciz)\s+"(?:[^"\\]|\\.)*"\s*')
_HEADER = re.compile(r"^\.+ (.+)$", re.MULTILINE)  # as the compiler's -H prints it
_SPLICE = re.compile(rb"\\[ \t\r]*\n")
_EMBED = re.compile(rb"\bembed\b")


class Refused(Exception):
    """What was handed in cannot be graded, and why."""


def headers(output: str) -> list[str]:
    """Those that the compiler had opened when it gave up."""
    return _HEADER.findall(output)


def without_headers(output: str) -> str:
    return _HEADER.sub("", output)


def at(data: bytes, *signs: bytes) -> str:
    """The line of the source that has the first of these, as far as one of them stands there."""
    for sign in signs:
        if (found := data.lower().find(sign.lower())) >= 0:
            line = data.count(b"\n", 0, found) + 1
            return f" (line {line})"
    return ""


def check_quotable(data: bytes) -> None:
    """Of a file that does not compile. Whether #embed has read something stands nowhere then, but an error may show it."""
    if _EMBED.search(_SPLICE.sub(b"", data)):
        raise Refused(f"does not compile, and has the word embed, by which a file can be read{at(data, b'embed')}")


def check_assembly(file: Path, data: bytes) -> None:
    """What the compiler has made of the file, for the assembler: whatever macros and attributes did, here it can be seen."""
    if file.stat().st_size == 0:
        return
    with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as text:
        for found in _READS.finditer(text):
            begin = text.rfind(b"\n", 0, found.start()) + 1
            end = text.find(b"\n", begin)
            if not _STRING.fullmatch(text[begin : end if end >= 0 else len(text)]):
                where = at(data, found[0], b"asm", b"section")
                raise Refused(f"uses the assembler's {found[0].decode()}, by which a file can be read{where}")
