"""What the tables of the demonstrations share: numbers, bars, colors."""

from . import screen

# As in the figures: one color for one algorithm.
COLORS = {"standard": "#D55E00", "V1": "#0072B2", "V2": "#009E73", "least possible": "#888888"}
EIGHTHS = " ▏▎▍▌▋▊▉"
PLAIN_WIDTH = 80  # a file is read in any terminal


def width() -> int:
    return PLAIN_WIDTH if screen.is_plain() else screen.width()


def say(*parts, indent: int = 0, hang: int = 0) -> None:
    """Prints one paragraph, wrapped at words in plain output, too: an explanation, which nobody greps."""
    screen.paragraph(*parts, columns=width(), indent=indent, hang=hang)


def line(*parts) -> None:
    """Prints strings and (string, style) pairs as one line, unwrapped."""
    text = screen.text(*parts)
    text.rstrip()
    screen.console.print(text, soft_wrap=True)


def found(sentence: str, good: bool = True) -> None:
    """What was found, with its sign."""
    word = "right" if good else "wrong"
    mark = screen.mark(word)
    say((mark, screen.style(word)), (sentence, "" if good else screen.style(word)), indent=2, hang=len(mark))


def size(count: float, unit: str = "B") -> str:
    """Three digits and a decimal prefix: 4.7 GB."""
    value, prefix = float(count), ""
    for larger in ("k", "M", "G", "T", "P"):
        if value < 999.5:
            break
        value, prefix = value / 1000, larger
    digits = f"{value:.0f}" if not prefix or value >= 99.95 else f"{value:.1f}"
    return f"{digits} {prefix}{unit}".rstrip()


def bar(part: float, whole: float, width: int) -> str:
    """Of `width` characters for the whole; something to see for any part but nothing."""
    eighths = round(8 * width * part / whole) if whole else 0
    if part:
        eighths = max(eighths, 1)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip().ljust(width)


def total(traffic: dict) -> int:
    return traffic["read_bytes"] + traffic["written_bytes"]


def same_bytes(one: dict, other: dict) -> bool:
    return all(one[key] == other[key] for key in ("read_bytes", "written_bytes"))
