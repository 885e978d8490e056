"""`./course bug`: the lab "find the bug". A kernel is built, tested and reported on as `./course check` does it."""

from argparse import Namespace

from . import bugs, reset, screen, solution, verdict
from .bugs import Bug, Lab
from .check import check
from .errors import InternalError, UsageError
from .state import State

UNTOUCHED = "not looked at"
_FLAGS = ("answer", "reset", "verbose", "sanitize", "gpu", "limit")  # that are about one kernel


def bug(lab: Lab | None, state: State, flags: Namespace, yes: bool) -> int:
    if lab is None:
        raise InternalError(f"The lab is missing: there is no {bugs.CATALOG}.")
    if flags.bug is None:
        if given := [f"--{name}" for name in _FLAGS if getattr(flags, name)]:
            raise UsageError(f"{given[0]} is for one kernel: ./course bug 03 {given[0]}")
        return show(lab, state)
    one = bugs.find(flags.bug, lab)
    if flags.answer and flags.reset:
        raise UsageError("--answer shows the fault, --reset puts it back: one of the two.")
    if flags.answer:
        return solution.solution(one, state, yes)
    if flags.reset:
        return reset.reset(one, state, yes)

    def say_next(one: Bug, state: State, word: str) -> None:
        _say_next(lab, one, state, word)

    return check(one, None, flags.verbose, flags.limit, flags.sanitize, flags.gpu, say_next)


def show(lab: Lab, state: State) -> int:
    screen.say((lab.title, "bold"), f": {_small(lab.summary)}")
    screen.code("")
    wide = max(len(one.title) for one in lab.bugs)
    for one in lab.bugs:
        word = state_of(one, state)
        screen.say(f"{one.place}  {one.title:{wide}}  ", (screen.mark(word) + word, screen.style(word)), indent=2)
    screen.code("")
    _next(lab, state)
    return 0


def line_of_the_map(lab: Lab, state: State) -> None:
    found = len(_found(lab, state))
    word = f"{bugs.FOUND} {found} of {len(lab.bugs)}" if found else verdict.NOT_STARTED
    screen.say(f"{lab.title}  ", (word, screen.style(word)), ": ./course bug", indent=2)
    screen.say((lab.summary, "dim"), indent=6)


def state_of(one: Bug, state: State) -> str:
    """In words, from the last check and the file as it is now. Nothing is run."""
    if not (one.root / one.exercise).exists():
        return "the file is missing"
    if word := state.verdict(one):
        return one.in_words(word)
    return UNTOUCHED if one.read_exercise() == one.known_stub() else "changed since last check"


def _say_next(lab: Lab, one: Bug, state: State, word: str) -> None:
    if word == verdict.WRONG:
        screen.say(f"A question, a hint: {one.for_a_hint()}")
    elif word == verdict.RIGHT:
        screen.say(f"The answer, and what a GPU says: {one.for_a_hint()}")
        _next(lab, state)


def _next(lab: Lab, state: State) -> None:
    found = _found(lab, state)
    left = [one for one in lab.bugs if one not in found]
    if left:
        screen.say(f"{len(found)} of {len(lab.bugs)} found. Next: {left[0].command('check')}")
    else:
        screen.say(f"All {len(lab.bugs)} found.")


def _found(lab: Lab, state: State) -> list[Bug]:
    return [one for one in lab.bugs if state_of(one, state) == bugs.FOUND]


def _small(summary: str) -> str:
    return summary[:1].lower() + summary[1:]
