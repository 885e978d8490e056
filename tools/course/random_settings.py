"""The variables of the environment that choose inputs and random cases: see reference/fa/inputs.h and property.h."""

import os
import re

from .catch_xml import Property
from .errors import UsageError

CASE = "FA_RANDOM_CASE"
_COUNT = (r"0*[1-9]\d*", 2**63 - 1, "a whole number from 1 to 2^63 - 1")
_ALLOWED = {  # the pattern, the largest number if there is one, and what is said of both
    "FA_SEED": (r"\d*", 2**64 - 1, "a whole number from 0 to 2^64 - 1"),  # empty: as if it were not set
    "FA_RANDOM_CASES": _COUNT,
    "FA_RANDOM_SEED": _COUNT,
    CASE: (r" *-?\d+( +-?\d+)* *", None, "whole numbers, as a failure prints them"),
}


def verify() -> None:
    """Before anything is built."""
    for name, (pattern, most, allowed) in _ALLOWED.items():
        text = os.environ.get(name)
        if text is None or (re.fullmatch(pattern, text, re.ASCII) and _at_most(most, text)):
            continue
        shown = text if text.isprintable() else ascii(text)[1:-1]  # a line break would tear the message
        raise UsageError(f"{name} = '{shown}': must be {allowed}.")


def _at_most(most: int | None, digits: str) -> bool:
    significant = digits.lstrip("0")
    return most is None or (len(significant) <= len(str(most)) and int(significant or 0) <= most)


def verify_taken(properties: list[Property]) -> None:
    """What numbers a lesson's cases have, its test knows. It says so, and that is no failure of the student's."""
    for failure in (one for test in properties for one in test.failures if failure_of_setting(one.message)):
        raise UsageError(failure_of_setting(failure.message) + ".")


def failure_of_setting(message: str) -> str:
    found = re.search(rf"thrown:\s+((?:{'|'.join(_ALLOWED)}) = .*)", message)
    return found[1] if found else ""
