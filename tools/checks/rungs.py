"""The rungs of a lesson's ladder, the steps by which its solution got fast: each one still compiles and is right, on the emulator.

lessons/NN_.../rungs.toml lists them from the fastest down: each is an edit of the one before it, the first one of the solution.

    tests = ["..."]      # test cases that every rung must pass
    [[rung]]
    name = "no_padding"
    title = "..."
    edits = [{find = "...", replace = "..."}]

CMake calls `rungs.py write LESSON FOLDER`, which writes each rung to FOLDER/<name>/ and prints the names. `python -m checks rungs`
builds their tests and runs those that are named.
"""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

if __name__ == "__main__":  # called by CMake, by path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checks import mistakes
from checks.common import ROOT, Lesson, Result, build, call, lessons, tail

TIME_LIMIT = 120  # seconds for one rung


def ladder(folder: Path) -> dict:
    """What rungs.toml says; of a lesson without one, no rungs."""
    file = folder / "rungs.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {"tests": [], "rung": []}


def sources(rungs: list[dict], solution: str) -> dict[str, str]:
    """The text of each rung by its name. Raises ValueError for an edit whose `find` does not occur exactly once."""
    texts, text = {}, solution
    for rung in rungs:
        for edit in rung["edits"]:
            occurrences = text.count(edit["find"])
            if occurrences != 1:
                raise ValueError(f"rung {rung['name']}: '{edit['find']}' occurs {occurrences} times, must be once")
            text = text.replace(edit["find"], edit["replace"])
        texts[rung["name"]] = text
    return texts


def write(name: str, folder: Path) -> list[str]:
    """Touches only what has changed, so that nothing is compiled twice."""
    solution = next((ROOT / "solutions" / name).glob("*.c*"))
    texts = sources(ladder(ROOT / "lessons" / name)["rung"], solution.read_text(encoding="utf-8"))
    for rung, text in texts.items():
        file = folder / rung / solution.name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    return list(texts)


def judge(lesson: Lesson, rung: dict, tests: list[str]) -> Result:
    binary = ROOT / f"build/cpu/bin/test_rung_{lesson.number}_{rung['name']}"
    ran = call(binary, ",".join(map(mistakes.exactly, tests)), timeout=TIME_LIMIT)
    said = f"implementation: rung {rung['name']}" in ran.stdout
    passed = "All tests passed" in ran.stdout and f"in {len(tests)} test case" in ran.stdout
    return Result(f"{lesson.number} {rung['name']}", said and passed and ran.returncode == 0, tail(ran.stdout))


def run() -> Iterator[Result]:
    built = build("ci", "rungs")
    yield built
    if not built.ok:
        return
    for lesson in lessons():
        found = ladder(lesson.folder)
        for rung in found["rung"]:
            yield judge(lesson, rung, found["tests"])


def main(arguments: list[str]) -> int | str:
    if len(arguments) != 3 or arguments[0] != "write":
        return "usage: rungs.py write LESSON FOLDER"
    _, name, folder = arguments
    try:
        print("\n".join(write(name, Path(folder))))
    except (ValueError, KeyError) as error:
        return f"lessons/{name}/rungs.toml: {error}"
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
