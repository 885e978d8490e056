"""The kill matrix: which cataloged mistake breaks which test, lesson by lesson, as recorded in lessons/*/symptoms.json."""

import json
import re
import sys
from pathlib import Path

import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path as Outline

sys.path.append(str(Path(__file__).parents[1] / "tools"))
from course import lessons  # noqa: E402

COLUMNS, ROWS = 4, 3
WIDTH, HEIGHT = 10.4, 10.4  # inches; the width is that of style.figure(wide=True)
BROKEN, CAUGHT = "#B4B4B4", style.COLORS["V1"]
CASE = re.compile(r'TEST_CASE\("((?:[^"\\]|\\.)*)",\s*"\[step(\d+)\]')


def draw() -> Figure:
    catalog = lessons.load()
    tests = {lesson.number: tests_of(lesson) for lesson in catalog}
    mistakes = sum(len(lesson.mistakes) for lesson in catalog)
    everything = sum(map(len, tests.values()))
    idle = sum(len(unbroken(lesson, tests[lesson.number])) for lesson in catalog)
    made, panels = style.figure(
        f"{mistakes} mistakes, {everything} tests: no mistake survives",
        f"{everything - idle} of the tests are shown to be able to fail",
        "A row is a mistake, a column a test; both in the lesson's order, so that steps run down the diagonal. Thin lines: where a step begins.\n"
        "From lessons/*/symptoms.json: with each mistake all tests were run, but for those of random cases; CUDA on the emulator.",
        wide=True,
        height=HEIGHT,
    )
    for axes in panels:
        axes.remove()
    for at, lesson in enumerate(catalog):
        left, top = at % COLUMNS, at // COLUMNS
        place = (0.045 + left * 0.243, 0.675 - top * 0.287, 0.2, 0.225)
        matrix(made.add_axes(place), lesson, tests[lesson.number])
    key = [
        Patch(facecolor=CAUGHT, label="fails; is meant to"),
        Patch(facecolor=BROKEN, label="fails, too"),
        Patch(facecolor="white", edgecolor=style.GRAY, label="passes"),
        Line2D([], [], color=style.INK, marker="v", markersize=4, linestyle="none", label="fails with no mistake"),
    ]
    made.legend(
        handles=key,
        title="A test, with a mistake:",
        loc="lower left",
        bbox_to_anchor=(0.765, 0.17),
        frameon=False,
        alignment="left",
    )
    return made


def tests_of(lesson: lessons.Lesson) -> list[str]:
    return json.loads((lesson.folder / lessons.SYMPTOMS).read_text(encoding="utf-8"))["tests"]


def unbroken(lesson: lessons.Lesson, tests: list[str]) -> list[int]:
    """The columns of the tests that no mistake breaks."""
    broken = {test for one in lesson.mistakes for test in one.symptoms.broken}
    return [x for x, test in enumerate(tests) if test not in broken]


def first_of_steps(lesson: lessons.Lesson, tests: list[str]) -> list[int]:
    """The columns where a step begins, but for the first."""
    steps = dict(CASE.findall((lesson.folder / "test.cpp").read_text(encoding="utf-8")))
    return [x for x in range(1, len(tests)) if steps[tests[x]] != steps[tests[x - 1]]]


def matrix(axes: Axes, lesson: lessons.Lesson, tests: list[str]) -> None:
    column = {test: x for x, test in enumerate(tests)}
    broken, caught = [], []
    for y, one in enumerate(lesson.mistakes):
        broken += [(x, y) for x in map(column.get, one.symptoms.broken) if tests[x] != one.caught_by]
        caught.append((column[one.caught_by], y))
    for cells, color in ((broken, BROKEN), (caught, CAUGHT)):
        axes.add_patch(PathPatch(outline(cells), facecolor=color, edgecolor="none"))
    for x in first_of_steps(lesson, tests):
        axes.axvline(x, color=style.GRAY, linewidth=0.5)
    idle = unbroken(lesson, tests)
    axes.plot([x + 0.5 for x in idle], [-0.8] * len(idle), "v", color=style.INK, markersize=3, clip_on=False)
    axes.set(xlim=(0, len(tests)), ylim=(len(lesson.mistakes), -1.6), xticks=[], yticks=[])
    axes.grid(False)
    title = lesson.title.replace("FlashAttention V1", "V1")
    axes.set_title(f"{lesson.number} {title}", loc="left", fontsize=9.5, fontweight="bold", pad=5)
    axes.set_xlabel(f"{len(lesson.mistakes)} mistakes × {len(tests)} tests", fontsize=8.5, color=style.GRAY, loc="left")


def outline(cells: list[tuple[int, int]]) -> Outline:
    """One shape of all cells; neighbors in a row are one rectangle."""
    corners, codes = [], []
    runs: list[list[int]] = []  # x, end, y
    for x, y in sorted(cells, key=lambda cell: (cell[1], cell[0])):
        if runs and runs[-1][1:] == [x, y]:
            runs[-1][1] += 1
        else:
            runs.append([x, x + 1, y])
    for x, end, y in runs:
        corners += [(x, y), (end, y), (end, y + 1), (x, y + 1), (x, y)]
        codes += [Outline.MOVETO, *[Outline.LINETO] * 3, Outline.CLOSEPOLY]
    return Outline(corners, codes)
