"""`./course demo invariant`: the state (m, l, u) of the online softmax after each tile, beside the exact prefix."""

import math
import re

from . import demo_program, demo_screen, screen
from .build import Build
from .errors import NOT_RIGHT, RIGHT, UsageError
from .parser import Parser

EXAMPLE = "./course demo invariant --scores 2,1,0 --values 1,3,5 --tile 2"
QUANTITIES = ("m", "l", "u", "output")
HEADS = [*QUANTITIES, "e^(m−m′)"]
MOVED = "→"
LARGEST = 3.4028234e38  # of single precision
NARROW = 76  # columns; fewer have no room for six decimals
ROUNDING = 2.4e-7  # of the state, which is in single precision: four roundings for each key


def main(arguments: list[str]) -> int:
    scores, values, tile = parse(arguments)
    (program,) = demo_program.build(Build(), "demo_invariant")
    answer = demo_program.ask(program, {"--scores": scores, "--values": values, "--tile": tile})
    return show(answer["orders"], max(map(abs, map(float, values.split(",")))))


def parse(arguments: list[str]) -> tuple[str, str, int]:
    parser = Parser(
        prog="./course demo invariant",
        description="Absorbs a row of scores tile by tile, in order and reversed, and shows m, l, u and the output "
        "after each tile, with the "
        "exact values over the keys seen so far below them. The exit code is 1 if the invariant does not hold.",
        epilog=f"example: {EXAMPLE}",
    )
    parser.add_argument(
        "--scores",
        default="2,1,0",
        help="the scores of one row, numbers separated by commas; -inf, inf and nan are allowed (default: %(default)s)",
    )
    parser.add_argument("--values", help="a finite value for each score (default: 1,3,5, ...)")
    parser.add_argument("--tile", default="2", help="how many scores a tile has, at least 1 (default: %(default)s)")
    flags = parser.parse_args(_joined(arguments))
    scores = _numbers("--scores", flags.scores)
    values = [2.0 * j + 1 for j in range(len(scores))]
    if flags.values is not None:
        values = _numbers("--values", flags.values)
    if not all(map(math.isfinite, values)):
        raise UsageError(f"--values '{flags.values}': must be finite numbers.")
    if sum(map(abs, values)) > LARGEST:
        raise UsageError(
            f"--values '{flags.values}': their absolute values add up to {sum(map(abs, values)):.6g}, "
            f"too large for single precision; at most {LARGEST:.6g}."
        )
    if len(scores) != len(values):
        raise UsageError(
            f"--values '{flags.values}': must have as many numbers as --scores: {len(scores)}, not {len(values)}."
        )
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", flags.tile):
        raise UsageError(f"--tile '{flags.tile}': must be a whole number, at least 1.")
    return ",".join(map(repr, scores)), ",".join(map(repr, values)), int(flags.tile)


def _joined(arguments: list[str]) -> list[str]:
    """`--scores -1,2` as `--scores=-1,2`: argparse would take -1,2 for a flag."""
    joined = []
    for argument in arguments:
        if joined and joined[-1] in ("--scores", "--values", "--tile") and not argument.startswith("--"):
            joined[-1] += "=" + argument
        else:
            joined.append(argument)
    return joined


def _numbers(flag: str, text: str) -> list[float]:
    numbers = []
    for part in text.split(","):
        try:
            if "_" in part:
                raise ValueError
            numbers.append(float(part))
            if LARGEST < abs(numbers[-1]) < math.inf:
                raise UsageError(
                    f"{flag} '{text}': {part.strip()} is too large for single precision; at most {LARGEST:.6g}."
                )
        except ValueError:
            what = f"'{part.strip()}' is not a number" if part.strip() else "a number is missing"
            raise UsageError(
                f"{flag} '{text}': {what}; must be numbers separated by commas, such as 2,-1e4,-inf."
            ) from None
    return numbers


def show(orders: list[dict], size: float) -> int:
    """`size` is that of the largest value: u and the output are sums of values, and may cancel."""
    differences = []
    from_nothing = False
    wide = demo_screen.width() >= NARROW
    decimals = 6 if wide else 4
    for order in orders:
        screen.code("")
        demo_screen.say((f"Tiles {order['name']}", "bold"))
        rows = order["rows"]
        cells = [[_number(row[name], decimals) for name in (*QUANTITIES, "rescale")] for row in rows]
        exact = [[_number(row[f"{name}_exact"], decimals) for name in QUANTITIES] for row in rows]
        widths = [
            max(11 if wide else 8, len(head) + 1, *(len(line[at]) + 2 for line in cells + exact if at < len(line)))
            for at, head in enumerate(HEADS)
        ]
        _line("", "tile", "keys", HEADS, widths, "underline")
        before = None  # the m of the row before
        stored = math.nan  # its l
        for row, numbers, exact_numbers in zip(rows, cells, exact, strict=True):
            m = float(row["m"])
            moved = before not in (None, m)
            from_nothing = from_nothing or (before == -math.inf and stored == 0)
            before, stored = m, float(row["l"])
            _line(
                MOVED if moved else "",
                _tile(row["tile"]),
                str(row["keys_seen"]),
                numbers,
                widths,
                "bold magenta" if moved else "",
            )
            _line("", "  exact", "", exact_numbers, widths, "dim")
            state, exactly = ({name: float(row[name + which]) for name in QUANTITIES} for which in ("", "_exact"))
            differences.append(difference(state, exactly, size))
    screen.code("")
    if len(orders[0]["rows"]) == 1:
        smaller = " For smaller ones: --tile 1" if orders[0]["rows"][0]["keys_seen"] > 1 else ""
        demo_screen.say(f"One tile holds all keys, so nothing moves.{smaller}")
    else:
        demo_screen.say(f"{MOVED} the maximum moves from m to m′: what was stored is multiplied by e^(m−m′).")
    if from_nothing:
        demo_screen.say("Where m was −inf, the factor is 0: nothing was stored that weighs anything.")
    return _conclusion(orders, max(differences, default=0.0), size)


def _line(sign: str, tile: str, keys: str, numbers: list[str], widths: list[int], style: str) -> None:
    screen.code(
        (
            f"{sign:2}{tile:13}{keys:>4}"
            + "".join(f"{number:>{width}}" for number, width in zip(numbers, widths, strict=False))
        ).rstrip(),
        style,
    )


def _tile(scores: list) -> str:
    text = ", ".join(f"{float(score):g}" for score in scores)
    return f"[{text if len(text) <= 10 else text[:9] + '…'}]"


def _number(value: float | str | None, decimals: int) -> str:
    """So many decimals, unless that would be too long or would show nothing but zeros."""
    if value is None:
        return ""
    x = float(value)  # "nan" and "inf" too, which JSON has no numbers for
    short = x == 0 or not math.isfinite(x) or 0.5 * 10**-decimals <= abs(x) < 1e9
    return f"{x:.{decimals}{'f' if short else 'e'}}"


def difference(one: dict, other: dict, size: float) -> float:
    """The largest relative difference of two states. NaN equals NaN: it is the right answer to a NaN or +inf score."""
    largest = 0.0
    units = {"m": abs(other["m"]), "l": other["l"], "u": other["l"] * size, "output": size}
    for name in QUANTITIES:
        a, b = one[name], other[name]
        if a == b or (math.isnan(a) and math.isnan(b)):
            continue
        if not (math.isfinite(a) and math.isfinite(b) and units[name] > 0):
            return math.inf
        largest = max(largest, abs(a - b) / units[name])
    return largest


def _conclusion(orders: list[dict], largest: float, size: float) -> int:
    ends = [{name: float(order["rows"][-1][name]) for name in QUANTITIES} for order in orders]
    allowed = ROUNDING * (orders[0]["rows"][-1]["keys_seen"] + 2)
    apart = max(difference(end, ends[0], size) for end in ends)
    held = "The invariant held in every row" if largest <= allowed else "The invariant did NOT hold in every row"
    agree = "both orders agree" if apart <= allowed else "the orders do NOT agree"
    right = max(largest, apart) <= allowed
    if right and all(math.isnan(end["l"]) for end in ends):
        demo_screen.say(("NaN reached the state in both orders, as it must.", "bold green"))
        return RIGHT
    # The difference itself hangs on the compiler's choices; texts quote this line.
    numbers = f"below {allowed:.1e}, as" if right else f"up to {max(largest, apart):.1e}, of which {allowed:.1e}"
    demo_screen.say(
        (f"{held}, and {agree}", "bold green" if right else "bold red"),
        f" (relative differences {numbers} rounding explains).",
    )
    return RIGHT if right else NOT_RIGHT
