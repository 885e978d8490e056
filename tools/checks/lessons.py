"""Each lesson is complete, and the texts' links lead somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

from course import quiz_file

from checks.common import ROOT, Lesson, Result, lessons

LEAST_HINTS, LEAST_MISTAKES, LEAST_QUESTIONS = 3, 5, 4
SECTIONS = (
    "What you will build",
    "The idea",
    "An example by hand",
    "Your task",
    "What to measure",
    "An experiment",
    "Questions",
    "Common mistakes",
    "Where to read on",
)
TEST_CASE = re.compile(r'TEST_CASE\("((?:[^"\\]|\\.)*)",\s*"([^"]*)"\)')
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def missing_parts(lesson: Lesson, overview: str) -> Iterator[str]:
    for file in ("README.md", "test.cpp", "bench.cpp", "fuzz.cpp"):
        if not (lesson.folder / file).exists():
            yield f"lessons/{lesson.name}/{file} is missing"
            return
    steps = len(lesson.data.get("step", []))
    tests = (lesson.folder / "test.cpp").read_text(encoding="utf-8")
    text = (lesson.folder / "README.md").read_text(encoding="utf-8")
    cases = TEST_CASE.findall(tests)
    for section in SECTIONS:
        if f"\n## {section}" not in text:
            yield f"the text has no section '{section}'"
    if not re.search(rf"figures/{lesson.number}_\w+\.svg", text):
        yield f"the text shows no figure plots/figures/{lesson.number}_*.svg"
    if not (ROOT / f"plots/lesson_{lesson.number}.py").exists():
        yield f"plots/lesson_{lesson.number}.py is missing"
    if f'"{lesson.number}": lesson_{lesson.number}' not in (ROOT / "plots/counts.py").read_text(encoding="utf-8"):
        yield f"RECORD in plots/counts.py does not name lesson {lesson.number}"
    if not re.search(rf"fa_add_lesson\({lesson.name}[ )]", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")):
        yield "CMakeLists.txt does not add the lesson"
    for step in range(1, steps + 1):
        if not any(f"[step{step}]" in tags for _, tags in cases):
            yield f"no test has the tag [step{step}]"
        if f"check {lesson.number} --step {step}" not in text:
            yield f"the text does not tell how to check step {step}"
    for name, tags in cases:
        # large: too slow under compute-sanitizer. random: many drawn cases, see reference/fa/property.h.
        tag = re.fullmatch(r"\[step(\d+)\](?:\[large\]|\[random\])?", tags)
        if not tag or not 1 <= int(tag[1]) <= steps:
            yield f"test '{name}' has the tags '{tags}': must be that of one step, and [large] if it takes long or [random]"
    if not any(tags == f"[step{steps}][random]" for _, tags in cases[-1:]):
        yield f"the last test has not the tags '[step{steps}][random]': random cases belong at the end"
    yield from faults_of_given_tests(lesson.folder / "test_given.cpp")
    hints, mistakes = lesson.data.get("hint", []), lesson.data.get("mistake", [])
    if len(hints) < LEAST_HINTS or any(not 1 <= hint.get("step", 0) <= steps for hint in hints):
        yield f"{len(hints)} hints: at least {LEAST_HINTS} are needed, each for a step that exists"
    if len(mistakes) < LEAST_MISTAKES:
        yield f"{len(mistakes)} mistakes: at least {LEAST_MISTAKES} are needed"
    for mistake in mistakes:
        if mistake["caught_by"] not in [name for name, _ in cases]:
            yield f"mistake {mistake['name']}: no test is called '{mistake['caught_by']}'"
    if f"lessons/{lesson.name}/README.md" not in overview:
        yield "README.md does not list the lesson"
    yield from missing_questions(lesson)


def missing_questions(lesson: Lesson) -> Iterator[str]:
    if not (lesson.folder / quiz_file.FILE).exists():
        yield f"lessons/{lesson.name}/{quiz_file.FILE} is missing"
        return
    found = quiz_file.read(lesson)
    if len(found.kinds) < LEAST_QUESTIONS:
        yield f"{len(found.kinds)} kinds of questions: at least {LEAST_QUESTIONS} are needed"
    if found.prediction is None:
        yield f"{quiz_file.FILE} has no PREDICTION"


def faults_of_given_tests(file: Path) -> Iterator[str]:
    """The tests of code that is given: of no step."""
    if not file.exists():
        return
    cases = TEST_CASE.findall(file.read_text(encoding="utf-8"))
    if not cases:
        yield f"{file.name} has no tests"
    for name, tags in cases:
        if not re.fullmatch(r"\[given\](\[large\])?", tags):
            yield f"test '{name}' has the tags '{tags}': must be [given], and [large] if it takes long"


def broken_links(file: Path) -> list[str]:
    """Relative links in a text that lead nowhere."""
    targets = LINK.findall(file.read_text(encoding="utf-8"))
    local = [target.split("#")[0] for target in targets if not re.match(r"[a-z]+:|#", target)]
    return [target for target in local if not (file.parent / target).exists()]


def run() -> Iterator[Result]:
    overview = (ROOT / "README.md").read_text(encoding="utf-8")
    for lesson in lessons():
        missing = list(missing_parts(lesson, overview))
        yield Result(f"{lesson.name} is complete", not missing, "\n".join(missing))
    texts = [
        *ROOT.glob("*.md"),
        *ROOT.glob("lessons/**/*.md"),
        *ROOT.glob("plots/*.md"),
        *ROOT.glob("reference/**/*.md"),
    ]
    for file in texts:
        broken = broken_links(file)
        yield Result(f"links of {file.relative_to(ROOT)}", not broken, "\n".join(broken))
