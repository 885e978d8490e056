"""`./course` alone: the map of the lessons and the next step."""

from . import screen, stub, verdict
from .lessons import Lesson
from .state import State


def state_of(lesson: Lesson, state: State) -> str:
    """In words, from the last check and the file as it is now. Nothing is run."""
    if not (lesson.root / lesson.exercise).exists():
        return "the file is missing"
    if stub.find(lesson) == lesson.read_exercise():
        return verdict.NOT_STARTED
    record = state.record(lesson)
    if not record.get("fingerprint"):
        return "never checked"
    if record["fingerprint"] != lesson.fingerprint():
        return "changed since last check"
    word = record.get("verdict")
    steps = record.get("steps") or {}
    done = sum(one == verdict.RIGHT for one in steps.values())
    if word == verdict.RIGHT or word == verdict.DOES_NOT_COMPILE:
        return word
    if word == verdict.WRONG:
        return f"wrong ({done} of {_steps(lesson)} right)"
    return f"in progress ({done} of {_steps(lesson)} right)" if done else verdict.NOT_STARTED


def show(lessons: list[Lesson], state: State) -> int:
    states = {lesson.name: state_of(lesson, state) for lesson in lessons}
    title_width = max((len(lesson.title) for lesson in lessons), default=0)
    part = ""
    for lesson in lessons:
        if lesson.part != part:
            part = lesson.part
            screen.code("")
            screen.say((part, "bold"))
        word = states[lesson.name]
        screen.say(
            f"{lesson.number}  {lesson.title:{title_width}}  ", (screen.mark(word) + word, screen.style(word)), indent=2
        )
        screen.say((lesson.summary, "dim"), indent=6)
    screen.code("")
    _next_step(lessons, states)
    return 0


def _next_step(lessons: list[Lesson], states: dict[str, str]) -> None:
    lesson = next((one for one in lessons if states[one.name] != verdict.RIGHT), None)
    if lesson is None:
        screen.say("Every lesson is right." if lessons else "There are no lessons in lessons/.")
        return
    word = states[lesson.name]
    command = "check"
    if word == verdict.NOT_STARTED:
        command = "watch"
        screen.say(f"Read lessons/{lesson.name}/README.md and edit {lesson.exercise}. This checks it at each save:")
    elif word.startswith(verdict.WRONG):
        command = "hint"
        screen.say(f"Lesson {lesson.number} is wrong. For a hint:")
    elif word == "the file is missing":
        command = "reset"
        screen.say(f"{lesson.exercise} is missing. To get the stub:")
    else:
        screen.say(f"Lesson {lesson.number}, {word}. Next:")
    screen.say((f"./course {command} {lesson.number}", "bold"), indent=4)


def _steps(lesson: Lesson) -> str:
    return f"{len(lesson.steps)} step" + ("" if len(lesson.steps) == 1 else "s")
