"""`./course hint`: graded help, one hint at a time."""

from . import progress, screen
from .errors import UsageError
from .lessons import Lesson
from .state import State


def hint(lesson: Lesson, state: State, step: int | None = None, show_all: bool = False) -> int:
    if step is not None and not 1 <= step <= len(lesson.steps):
        raise UsageError(f"--step {step}: lesson {lesson.number} has the steps 1 to {len(lesson.steps)}.")
    if show_all:
        for one in [step] if step else range(1, len(lesson.steps) + 1):
            of_step = _of_step(lesson, one)
            for place, number in enumerate(of_step, 1):
                _show(lesson, number, place, len(of_step))
        return 0
    again = f"./course hint {lesson.number}" + (f" --step {step}" if step else "")
    step = step or progress.next_step(lesson, state.record(lesson))
    if step is None:
        screen.say(f"Every step of lesson {lesson.number} was right when last checked. All hints: {again} --all")
        return 0
    of_step = _of_step(lesson, step)
    if not of_step:
        screen.say(f"There is no hint for {_named(lesson, step)}. The text: lessons/{lesson.name}/README.md")
        return 0
    seen = state.record(lesson).get("hints") or []
    unseen = [number for number in of_step if number not in seen]
    number = unseen[0] if unseen else of_step[-1]
    if not unseen:
        screen.say(f"You have seen all hints for {_named(lesson, step)}. The last one again:")
    _show(lesson, number, of_step.index(number) + 1, len(of_step))
    if unseen:
        state.update(lesson, hints=[*seen, number])
    if len(unseen) > 1:
        screen.say(f"The next one: {again}")
    else:
        screen.say(f"That was the last hint for this step. The solution: ./course solution {lesson.number}")
    return 0


def _of_step(lesson: Lesson, step: int) -> list[int]:
    """Places in lesson.hints."""
    return [number for number, one in enumerate(lesson.hints) if one.step == step]


def _named(lesson: Lesson, step: int) -> str:
    return f"step {step} ({lesson.steps[step - 1]})"


def _show(lesson: Lesson, number: int, place: int, total: int) -> None:
    one = lesson.hints[number]
    screen.say((f"hint {place} of {total}", "bold"), f" for {_named(lesson, one.step)}")
    screen.code("")
    for paragraph in _paragraphs(one.text):
        if paragraph.startswith("    "):
            screen.code("    " + paragraph)
        else:
            screen.say(paragraph, indent=4)
    screen.code("")


def _paragraphs(text: str) -> list[str]:
    """Joins the lines of a paragraph, for a terminal of any width. Lines indented by four spaces are code."""
    joined = []
    for line in text.splitlines():
        prose = line.strip() and not line.startswith("    ")
        if prose and joined and joined[-1].strip() and not joined[-1].startswith("    "):
            joined[-1] += " " + line.strip()
        else:
            joined.append(line.rstrip())
    return joined
