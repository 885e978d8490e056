"""What tables of measured numbers are made of: numbers as text, rows of a record, Markdown."""

from data import PlotError

WIDTHS = (64, 128)  # D


def three_digits(value: float) -> str:
    digits = 3 if value < 0.9995 else 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}"


def decimal(value: float | None, unit: str = "B") -> str:
    """1.62e9 becomes 1.62 GB; nothing becomes an empty cell."""
    if value is None:
        return ""
    for power, prefix in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if value >= 10**power * 0.9995:
            return f"{three_digits(value / 10**power)} {prefix}{unit}"
    return f"{value:.0f} {unit}"


def time(milliseconds: float | None, missing: str = "out of memory") -> str:
    if milliseconds is None:
        return missing
    return f"{three_digits(milliseconds / 1000)} s" if milliseconds >= 999.5 else f"{three_digits(milliseconds)} ms"


def row_of(table: dict, **wanted: int) -> dict:
    """The row of a table of columns where these columns have these values."""
    for at in range(len(table["repetitions"])):
        if all(table[column][at] == value for column, value in wanted.items()):
            return {column: values[at] for column, values in table.items()}
    raise PlotError(f"the record has no row with {wanted}")


def moved(row: dict, start: str = "") -> int | None:
    read, written = row.get(f"{start}read_bytes"), row.get(f"{start}written_bytes")
    return None if read is None or written is None else read + written


def markdown(head: tuple[str, ...], rows: list[list[str]], align: str = "--:") -> str:
    lines = [head, [align] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def by_width(first: str, *columns: str) -> tuple[str, ...]:
    """The head of a table that has these columns for each D."""
    return (first, *(f"D = {D}: {name}" if name == columns[0] else name for D in WIDTHS for name in columns))


def machine(record: dict) -> str:
    return f"{record['gpu']}, driver {record['driver']}, CUDA {record['cuda']}, commit {record['commit']}"
