"""`./course quiz`: questions with numbers that are drawn, and answers that are computed."""

import json
import random

from . import amount, asking, quiz_file, screen
from .errors import NOT_RIGHT, RIGHT, UsageError
from .lessons import Lesson
from .question import Choice, Question
from .quiz_file import Kind
from .state import State

SEEDS = 10_000


def quiz(lesson: Lesson, state: State, seed: int | None, only: str | None, as_json: bool, answers: bool) -> int:
    if seed is not None and seed < 0:
        raise UsageError(f"--seed {seed}: must be at least 0.")
    seed = random.SystemRandom().randrange(SEEDS) if seed is None else seed
    kinds = _chosen(lesson, only)
    questions = [(kind, kind.draw(lesson, seed)) for kind in kinds]
    if as_json:
        print(json.dumps(_document(lesson, seed, questions, answers), indent=2, ensure_ascii=False))
        return RIGHT
    _introduce(lesson, seed, len(questions), answers)
    if answers:
        for place, (kind, question) in enumerate(questions, 1):
            _show(place, len(questions), kind, question)
            screen.say((f"Answer: {question.answer.text}.", "bold green"), indent=4)
            _explain(question)
        return RIGHT
    return _ask(lesson, state, seed, questions)


def _chosen(lesson: Lesson, only: str | None) -> tuple[Kind, ...]:
    kinds = quiz_file.read(lesson).kinds
    if only is None:
        return kinds
    found = tuple(kind for kind in kinds if kind.name == only)
    if not found:
        names = ", ".join(kind.name for kind in kinds)
        raise UsageError(f"--kind {only}: lesson {lesson.number} has no such question. It has:", names)
    return found


def _introduce(lesson: Lesson, seed: int, total: int, answers: bool) -> None:
    what = "1 question" if total == 1 else f"{total} questions"
    screen.say((f"{lesson.number}  {lesson.title}", "bold"), f": {what}, seed {seed}")
    screen.say(f"The same numbers again: ./course quiz {lesson.number} --seed {seed}", indent=4)
    if not answers:
        screen.say(f"Numbers may be typed as {amount.EXAMPLES}.", indent=4)
        screen.say("An empty line is no answer and shows the right one. Ctrl-D ends.", indent=4)


def _ask(lesson: Lesson, state: State, seed: int, questions: list[tuple[Kind, Question]]) -> int:
    state.must_be_writable()
    asked = right = 0
    try:
        for place, (kind, question) in enumerate(questions, 1):
            _show(place, len(questions), kind, question)
            given = asking.understood(question.answer)
            good = given is not None and question.answer.is_right(given)
            asked, right = asked + 1, right + good
            _remember(state, lesson, kind, good, seed)
            _judge(question, given, good)
    except EOFError:
        pass
    except KeyboardInterrupt:
        screen.code("")
        _conclude(lesson, state, asked, right, len(questions))
        raise
    _conclude(lesson, state, asked, right, len(questions))
    return RIGHT if right == len(questions) else NOT_RIGHT


def _show(place: int, total: int, kind: Kind, question: Question) -> None:
    screen.code("")
    screen.say((f"{place} of {total}  {kind.title}", "bold"))
    screen.say(question.text, indent=4)
    if isinstance(question.answer, Choice):
        for at in range(len(question.answer.options)):
            screen.say(question.answer.words(at), indent=6, hang=3)
    screen.say((f"({question.answer.how})", "dim"), indent=4)


def _judge(question: Question, given, good: bool) -> None:
    text = question.answer.text
    if good:
        exactly = "" if question.answer.words(given) == text else f" Exactly: {text}."
        screen.say((f"{screen.mark('right')}Right.", screen.style("right")), f"{exactly} {question.rule}", indent=4)
        return
    if given is None:
        screen.say(f"The answer: {text}.", indent=4)
    else:
        screen.say((f"{screen.mark('wrong')}Wrong.", screen.style("wrong")), f" The answer: {text}.", indent=4)
        if remark := question.answer.remark(given):
            screen.say(remark, indent=4)
    _explain(question)


def _explain(question: Question) -> None:
    screen.say(question.rule, indent=4)
    for line in question.why:
        screen.say(line, indent=6)


def _remember(state: State, lesson: Lesson, kind: Kind, good: bool, seed: int) -> None:
    known = _known(state, lesson)
    before = known.get(kind.name, {"asked": 0, "right": 0})
    counts = {"asked": before["asked"] + 1, "right": before["right"] + good}
    state.update(lesson, quiz={**known, kind.name: {**counts, "last": good, "seed": seed}})


def _known(state: State, lesson: Lesson) -> dict[str, dict]:
    """By kind; the file may have been edited."""

    def is_sound(one) -> bool:
        return isinstance(one, dict) and all(isinstance(one.get(name), int) for name in ("asked", "right", "last"))

    return {name: one for name, one in (state.record(lesson).get("quiz") or {}).items() if is_sound(one)}


def _conclude(lesson: Lesson, state: State, asked: int, right: int, total: int) -> None:
    screen.code("")
    rest = f" {total - asked} not asked." if asked < total else ""
    screen.say((f"{right} of {asked} right.", "bold"), rest)
    known = _known(state, lesson)
    kinds = quiz_file.read(lesson).kinds
    still_open = [kind for kind in kinds if kind.name not in known or not known[kind.name]["last"]]
    if not still_open:
        screen.say(f"Each kind of question of lesson {lesson.number} was right when it was last asked.")
        return
    screen.say(f"Not right when last asked, or not asked: {', '.join(kind.name for kind in still_open)}")
    screen.say(f"One of them with new numbers: ./course quiz {lesson.number} --kind {still_open[0].name}")


def _document(lesson: Lesson, seed: int, questions: list[tuple[Kind, Question]], answers: bool) -> dict:
    def entry(kind: Kind, question: Question) -> dict:
        found = {"kind": kind.name, "question": question.text, "how": question.answer.how}
        if isinstance(question.answer, Choice):
            found["options"] = [question.answer.words(at) for at in range(len(question.answer.options))]
        if answers:
            found |= {"answer": question.answer.text, "rule": question.rule, "derivation": list(question.why)}
        return found

    return {"lesson": lesson.name, "seed": seed, "questions": [entry(*one) for one in questions]}
