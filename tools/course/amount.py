"""Numbers as a student types them: 1e6, 1,048,576, 2^20, 64*64*4, 1 MiB, 4.5 MB. All are exact fractions."""

import ast
import operator
import re
from fractions import Fraction

EXAMPLES = "4.5 MB, 1,048,576, 1e6, 2^20 and 64*64*4"
_LONGEST = 200  # characters
_MOST = 10**40
_PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_WORDS = {"bytes": ("b", "byte", "bytes"), "FLOP": ("flop", "flops")}
_DO = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_CALCULATION = re.compile(r"[0-9.eE+\-*/() ]+")
_GROUPS = re.compile(r"(?<![\d.])\d{1,3}(?:([,'_ \u00a0\u202f])\d{3})(?:\1\d{3})*(?![\d,'_])")


class NotUnderstood(Exception):
    """With a sentence for the student."""


def parse(text: str, unit: str = "") -> Fraction:
    """In units of `unit`. Case does not matter: mb is MB, 10^6 bytes. Raises NotUnderstood."""
    text = text.strip()
    if len(text) > _LONGEST:
        raise NotUnderstood("That is too long for a number.")
    number, suffix = re.fullmatch(r"(.*?)\s*([A-Za-z]*)", text, re.DOTALL).groups()
    if not number:
        raise NotUnderstood(f"'{text}' is not a number. Numbers are written as in {EXAMPLES}.")
    value = _number(number) * _factor(suffix, unit)
    if abs(value) > _MOST:
        raise NotUnderstood("That number is too large.")
    return value


def words(value: Fraction | float, unit: str = "") -> str:
    """4,521,984 bytes, 1 byte; of what is no whole number six digits."""
    number = f"{int(value):,}" if value == int(value) else f"{float(value):.6g}"
    unit = unit.removesuffix("s") if value == 1 else unit
    return f"{number} {unit}".rstrip()


def _factor(suffix: str, unit: str) -> int:
    known = {prefix + word: factor for word in _WORDS.get(unit, ()) for prefix, factor in _PREFIXES.items()}
    known |= {prefix: factor for prefix, factor in _PREFIXES.items() if len(prefix) < 2}
    known |= {unit.lower(): 1, unit.lower().removesuffix("s"): 1}
    try:
        return known[suffix.lower()]
    except KeyError:
        wanted = f"a number of {unit}" if unit else "a number without a unit"
        raise NotUnderstood(f"'{suffix}' is not understood here: the answer is {wanted}.") from None


def _number(text: str) -> Fraction:
    plain = re.sub(r"(?<=[\d)])\s*[x×·]\s*(?=[\d(])", "*", text).replace("^", "**").replace("−", "-")
    plain = _GROUPS.sub(lambda group: group[0].replace(group[1], ""), plain)
    if "," in plain:
        raise NotUnderstood(
            f"'{text}' is not clear: write 1.5 with a point, and 1,500 with three digits after a comma."
        )
    try:
        if not _CALCULATION.fullmatch(plain):
            raise ValueError
        return _value(ast.parse(plain.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError):
        raise NotUnderstood(f"'{text}' is not a number. Numbers are written as in {EXAMPLES}.") from None


def _value(node: ast.expr) -> Fraction:
    """Of the four operations and powers, and of nothing else. Raises ValueError."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return Fraction(repr(number))  # 4.1 is what was written, not the float next to it
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, power = _value(left), _value(right)
            if power.denominator != 1 or abs(power) > 64 or abs(base) > 10**6:
                raise ValueError
            return base ** int(power)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _DO:
            return _DO[type(op)](_value(left), _value(right))
    raise ValueError
