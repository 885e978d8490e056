"""The variables of the environment that choose random cases: see reference/fa/property.h."""

import os
import re

from .catch_xml import Property
from .errors import UsageError

CASE = "FA_RANDOM_CASE"
_ALLOWED = {
    "FA_RANDOM_CASES": (r"0*[1-9]\d*", "a whole number, at least 1"),
    "FA_RANDOM_SEED": (r"0*[1-9]\d*", "a whole number, at least 1"),
    CASE: (r"\s*-?\d+(\s+-?\d+)*\s*", "whole numbers, as a failure prints them"),
}


def verify() -> None:
    """Before anything is built."""
    for name, (pattern, allowed) in _ALLOWED.items():
        text = os.environ.get(name)
        if text is not None and not re.fullmatch(pattern, text, re.ASCII):
            raise UsageError(f"{name} = '{text}': must be {allowed}.")


def verify_taken(properties: list[Property]) -> None:
    """What numbers a lesson's cases have, its test knows. It says so, and that is no failure of the student's."""
    for failure in (one for test in properties for one in test.failures if failure_of_setting(one.message)):
        raise UsageError(failure_of_setting(failure.message) + ".")


def failure_of_setting(message: str) -> str:
    found = re.search(rf"thrown: ((?:{'|'.join(_ALLOWED)}) = .*)", message)
    return found[1] if found else ""
