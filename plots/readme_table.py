"""The tables of measured numbers in README.md and in the texts of the lessons, from what a GPU recorded in plots/data.

    python plots/readme_table.py --write     # fills each block between <!-- table: NAME --> and <!-- /table -->
    python plots/readme_table.py --check     # exit code 1 if something else stands in one

tables.py says which names there are.
"""

import re
from pathlib import Path

import data
import script
import tables
from data import PlotError

ROOT = Path(__file__).parent.parent
MARKER = re.compile(r"^<!-- (?:table: (?P<name>\S+)|(?P<end>/table)) -->$", re.MULTILINE)


def filled(text: str, where: str) -> str:
    """The text with every table as it is recorded now."""
    parts, done, open_name = [], 0, None
    for marker in MARKER.finditer(text):
        if (marker["end"] is None) != (open_name is None):
            raise PlotError(f"{where}: <!-- table: NAME --> and <!-- /table --> must alternate: {marker[0]}")
        if marker["end"]:
            function, source = tables.TABLES[open_name]
            parts.append(f"\n{function(data.load(source))}\n")
            done, open_name = marker.start(), None
            continue
        open_name = marker["name"]
        if open_name not in tables.TABLES:
            raise PlotError(f"{where}: there is no table {open_name}: must be one of {', '.join(tables.TABLES)}")
        parts.append(text[done : marker.end()])
        done = marker.end()
    if open_name is not None:
        raise PlotError(f"{where}: the table {open_name} has no end, a line <!-- /table -->")
    return "".join([*parts, text[done:]])


def main() -> int:
    parser = script.parser("Tables of what a GPU measured, in texts.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="fill the tables")
    action.add_argument("--check", action="store_true", help="exit code 1 if a text has another table")
    given = parser.parse_args()
    found, wrong = 0, []
    for path in (ROOT / "README.md", *sorted((ROOT / "lessons").glob("*/README.md"))):
        text = path.read_text(encoding="utf-8")
        wanted = filled(text, str(path.relative_to(ROOT)))
        names = [marker["name"] for marker in MARKER.finditer(text) if marker["name"]]
        if path == ROOT / "README.md" and "times" not in names:
            raise PlotError("README.md has no line <!-- table: times -->")
        found += len(names)
        if text == wanted:
            continue
        wrong.append(path)
        if given.write:
            data.save(path, wanted)
    for path in wrong:
        state = "is written" if given.write else "is not what is recorded in plots/data"
        print(f"{path.relative_to(ROOT)}: a table {state}")
    if wrong and given.check:
        print("To write it: python plots/readme_table.py --write")
        return 1
    print(f"{found} tables in the texts are what is recorded.")
    return 0


if __name__ == "__main__":
    script.run(main)
