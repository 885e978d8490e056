"""`./course` alone: the map of the lessons and the next step."""

from . import bug, progress, screen, stub, unwritten, verdict
from .bugs import Lab
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
    done = progress.steps_right(lesson, record)
    right = verdict.RIGHT_SO_FAR if unwritten.later_steps(lesson, 0) else verdict.RIGHT
    known = f" ({done} of {_steps(lesson)} {right} when last checked)"
    if record["fingerprint"] != lesson.fingerprint():
        return "changed" + known if record.get("steps") else "changed since last check"
    word = record.get("verdict")
    if word == verdict.RIGHT or word == verdict.DOES_NOT_COMPILE:
        return word
    if word == verdict.WRONG:
        return word + known
    return "in progress" + known if done else verdict.NOT_STARTED


def show(lessons: list[Lesson], state: State, lab: Lab | None = None) -> int:
    states = {lesson.name: state_of(lesson, state) for lesson in lessons}
    title_width = max((len(lesson.title) for lesson in lessons), default=0)
    part = ""
    for lesson in lessons:
        if lesson.part != part:
            part = lesson.part
            screen.code("")
            screen.say((part, "bold"))
        word = states[lesson.name]
        name = f"{lesson.number}  {lesson.title:{title_width}}  "
        command = f": ./course check {lesson.number}" if word.startswith("changed") else ""
        screen.say(name, (screen.mark(word) + word, screen.style(word)), command, indent=2, hang=len(name))
        screen.say((lesson.summary, "dim"), indent=6)
    if lab:
        screen.code("")
        screen.say(("Lab", "bold"))
        bug.line_of_the_map(lab, state)
    screen.code("")
    _next_step(lessons, states, state)
    return 0


def _next_step(lessons: list[Lesson], states: dict[str, str], state: State) -> None:
    if all(word == verdict.RIGHT for word in states.values()):
        screen.say("Every lesson is right." if lessons else "There are no lessons in lessons/.")
        return
    lesson = progress.current(lessons, state)
    word = states[lesson.name]
    step = progress.next_step(lesson, state.record(lesson))
    command = "check"
    if word == verdict.NOT_STARTED:
        command = "watch"
        screen.say(f"Read lessons/{lesson.name}/README.md and edit {lesson.exercise}. This checks it at each save:")
    elif word.startswith(verdict.WRONG):
        command = "hint"
        screen.say(f"Lesson {lesson.number} is wrong. For a hint:")
    elif word == "the file is missing" and lesson.in_git():
        command = "reset"
        screen.say(f"{lesson.exercise} is missing. To get the stub:")
    elif word == "the file is missing":
        screen.say(f"{lesson.exercise} is missing. {lesson.way_back()}")
        return
    elif word.startswith("in progress") and step:
        command = "watch"
        screen.say(
            f"Next: step {step} of lesson {lesson.number}, {lesson.steps[step - 1]}. This checks it at each save:"
        )
    else:
        screen.say(f"Lesson {lesson.number}: {word}. Next:")
    screen.say((f"./course {command} {lesson.number}", "bold"), indent=4)


def _steps(lesson: Lesson) -> str:
    return f"{len(lesson.steps)} step" + ("" if len(lesson.steps) == 1 else "s")
