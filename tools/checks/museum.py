"""The museum of mistakes is current: lessons/museum.md, the page of all cataloged mistakes and of the tests that they break.

`python -m checks.museum --write` (in tools/) writes it from each lesson's lesson.toml and symptoms.json; without it, it is checked.
"""

import difflib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from course.fault import without_count
from course.symptoms import Symptoms

from checks import symptoms
from checks.common import ROOT, Lesson, Result, lessons

PAGE = "lessons/museum.md"
LONGEST = 110  # characters of a message

INTRODUCTION = """\
# The museum of mistakes

<!-- Written by `python -m checks.museum --write` (in tools/). -->

{mistakes} ways to get attention wrong, in {lessons} lessons. Each is one edit of a solution: the lesson's `lesson.toml` has it, and says why it
is wrong. CI makes each of them, and the lesson's tests must catch it: **no mistake survives, and none is caught only by a crash**.

![The kill matrix: for each lesson, which mistake breaks which test](../plots/figures/museum.svg)

How the tests fail with each mistake is recorded in `symptoms.json`, from real runs of all of them but those of random cases.
`./course check` compares a student's result with it. If exactly one mistake breaks the same tests, and the first of them says the
same, the runner names that mistake. If several do, it lists them, and blames none. If none does, it shows the first property that
fails, and at most says which mistakes come near.

| lesson | mistakes | tests | broken by none | alone in their symptoms |
|---|--:|--:|--:|--:|
{rows}
"""

UNBROKEN = """
## Tests that no mistake breaks

None of the mistakes here makes these tests fail, so that they can fail is not shown here. Many of them look at what is given, such as the
rejection of bad arguments, or at what follows from other tests, such as how a formula grows.
"""

ALIKE = """
## Mistakes that look alike

These break the same tests, with the same messages as far as they are recorded. The runner lists all of a group, and blames none.
"""

EXHIBITS = """
## The mistakes

*Caught by*: the test that is meant to. *Breaks*: how many of the lesson's tests. In code: what the first of these says, behind its
name; the others are not quoted.
"""


def unbroken(lesson: Lesson) -> list[str]:
    """The tests that no mistake breaks."""
    broken = {test for one in symptoms.recorded(lesson).values() for test in one.broken}
    return [test for test in symptoms.packed(lesson)["tests"] if test not in broken]


def alike(lesson: Lesson) -> list[list[str]]:
    """Groups of mistakes, by name, that the record cannot tell apart."""
    return symptoms.groups(symptoms.recorded(lesson))


def counts(lesson: Lesson) -> tuple[int, int, int, int]:
    """Mistakes, tests, tests that no mistake breaks, mistakes that are alone in their symptoms."""
    mistakes = len(lesson.data["mistake"])
    tests = len(symptoms.packed(lesson)["tests"])
    return mistakes, tests, len(unbroken(lesson)), mistakes - sum(map(len, alike(lesson)))


def escaped(text: str) -> str:
    """For a cell of a table."""
    return re.sub(r"([\\`*_|<>$\[\]])", r"\\\1", " ".join(text.split()))


def code(message: str) -> str:
    short = without_count(message)
    short = short if len(short) <= LONGEST else short[:LONGEST].rstrip() + " …"
    return f"`{short}`".replace("|", "\\|")


def exhibit(mistake: dict, one: Symptoms, tests: int) -> str:
    says = f"{escaped(one.first)}: {code(one.said)}"
    caught = says if one.first == mistake["caught_by"] else f"{escaped(mistake['caught_by'])}<br>The first: {says}"
    what = f"**{escaped(mistake['title'])}.** {escaped(mistake['why'])}"
    return f"| {what} | {caught} | {len(one.broken)} of {tests} |"


def room(lesson: Lesson) -> list[str]:
    """The mistakes of a lesson, folded away."""
    recorded, tests = symptoms.recorded(lesson), len(symptoms.packed(lesson)["tests"])
    mistakes = lesson.data["mistake"]
    return [
        "",
        f"<details><summary><b>{lesson.number} {lesson.data['title']}</b>: {len(mistakes)} mistakes</summary>",
        "",
        "| the mistake | caught by | breaks |",
        "|---|---|--:|",
        *(exhibit(one, recorded[one["name"]], tests) for one in mistakes),
        "",
        "</details>",
    ]


def page(catalog: list[Lesson]) -> str:
    totals = [sum(column) for column in zip(*map(counts, catalog), strict=True)]
    rows = [
        f"| [{one.number} {one.data['title']}]({one.name}/README.md) | {' | '.join(map(str, counts(one)))} |"
        for one in catalog
    ]
    rows.append(f"| all | {' | '.join(map(str, totals))} |")
    lines = [INTRODUCTION.format(mistakes=totals[0], lessons=len(catalog), rows="\n".join(rows)).rstrip("\n")]
    lines.append(UNBROKEN)
    lines += [f"- {lesson.number}: {escaped(test)}" for lesson in catalog for test in unbroken(lesson)]
    lines.append(ALIKE)
    for lesson in catalog:
        titles = {one["name"]: escaped(one["title"]) for one in lesson.data["mistake"]}
        lines += [f"- {lesson.number}: {'; '.join(titles[name] for name in names)}" for names in alike(lesson)]
    lines.append(EXHIBITS.rstrip("\n"))
    lines += [line for lesson in catalog for line in room(lesson)]
    return "\n".join(lines) + "\n"


def summary(catalog: list[Lesson]) -> None:
    print("  lesson  mistakes  tests  broken by none  alone in their symptoms", flush=True)
    for lesson in catalog:
        mistakes, tests, none, alone = counts(lesson)
        print(f"  {lesson.number:6}  {mistakes:8}  {tests:5}  {none:14}  {alone:23}", flush=True)


def run() -> Iterator[Result]:
    catalog = lessons()
    for lesson in catalog:
        names = {one["name"] for one in lesson.data["mistake"]}
        same_names = names == {*symptoms.recorded(lesson)}
        advice = f"run: python -m checks.mistakes record {lesson.number} (in tools/)"
        yield Result(f"{lesson.number}: each mistake is recorded, and no other", same_names, advice)
        if not same_names:
            return
    summary(catalog)
    found, wanted = (ROOT / PAGE).read_text(encoding="utf-8"), page(catalog)
    difference = difflib.unified_diff(found.splitlines(), wanted.splitlines(), PAGE, "record", n=0, lineterm="")
    advice = "run: python -m checks.museum --write (in tools/)"
    yield Result(PAGE, found == wanted, "\n".join([*list(difference)[:20], advice]))


def main(arguments: list[str]) -> int | str:
    if arguments not in ([], ["--write"]):
        return "usage: python -m checks.museum [--write]"
    if arguments:
        Path(ROOT / PAGE).write_text(page(lessons()), encoding="utf-8")
        return 0
    return "\n".join(f"{result.name}: {result.detail}" for result in run() if not result.ok) or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
