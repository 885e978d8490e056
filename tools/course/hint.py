"""`./course hint`: graded help, one hint at a time."""

from . import screen, verdict
from .errors import UsageError
from .lessons import Lesson
from .state import State


def hint(lesson: Lesson, state: State, step: int | None = None, show_all: bool = False) -> int:
    if step is not None and not 1 <= step <= len(lesson.steps):
        raise UsageError(f"--step {step}: lesson {lesson.number} has the steps 1 to {len(lesson.steps)}.")
    record = state.record(lesson)
    if step is None and not show_all:
        step = _first_open_step(lesson, record.get("steps") or {})
        if step is None:
            screen.say(
                f"Every step of lesson {lesson.number} was right at the last check. "
                f"All hints: ./course hint {lesson.number} --all"
            )
            return 0
    of_step = [number for number, one in enumerate(lesson.hints) if step is None or one.step in (None, step)]
    if not of_step:
        screen.say(f"There is no hint for {_step(lesson, step)}. The text: lessons/{lesson.name}/README.md")
        return 0
    if show_all:
        for place, number in enumerate(of_step, 1):
            _show(lesson, number, place, len(of_step))
        return 0
    seen = record.get("hints") or []
    unseen = [number for number in of_step if number not in seen]
    number = unseen[0] if unseen else of_step[-1]
    if not unseen:
        screen.say(f"You have seen all hints for {_step(lesson, step)}. The last one again:")
    _show(lesson, number, of_step.index(number) + 1, len(of_step))
    if unseen:
        state.update(lesson, hints=[*seen, number])
    if len(unseen) > 1:
        screen.say(f"The next one: ./course hint {lesson.number}")
    else:
        screen.say(f"That was the last hint for this step. The solution: ./course solution {lesson.number}")
    return 0


def _first_open_step(lesson: Lesson, steps: dict) -> int | None:
    return next((number for number in range(1, len(lesson.steps) + 1) if steps.get(str(number)) != verdict.RIGHT), None)


def _step(lesson: Lesson, step: int | None) -> str:
    return f"step {step} ({lesson.steps[step - 1]})" if step else f"lesson {lesson.number}"


def _show(lesson: Lesson, number: int, place: int, total: int) -> None:
    one = lesson.hints[number]
    screen.say((f"hint {place} of {total}", "bold"), f" for {_step(lesson, one.step)}")
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
