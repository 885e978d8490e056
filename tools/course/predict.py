"""`./course predict`: the student's numbers before a run, then the run, then how far off they were."""

import json
import math
import time
from fractions import Fraction

from . import amount, asking, bench_table, counting, process, quiz_file, screen
from .bench import build_program
from .build import Build
from .errors import NOT_RIGHT, RIGHT, InternalError, UsageError
from .lessons import Lesson
from .prediction import Asked, Prediction
from .state import State


def predict(lesson: Lesson, state: State, exercise: bool, show: bool) -> int:
    prediction = quiz_file.read(lesson).prediction
    if prediction is None:
        raise UsageError(f"Lesson {lesson.number} has nothing to predict yet: its quiz.py has no PREDICTION.")
    if show:
        return _show_all(lesson, prediction, state)
    who = "exercise" if exercise else "solution"
    entry = _waiting(lesson, prediction, state, who)
    if entry is None:
        state.must_be_writable()
        entry = _ask(lesson, prediction, who)
        if entry is None:
            return NOT_RIGHT
        _keep(state, lesson, entry)
        screen.say("Kept. Now the run.")
    else:
        screen.say(f"Your prediction of {_when(entry)} was not run yet. It is kept and is used now.")
    measured = _measure(lesson, prediction, exercise)
    if measured is None:
        screen.say(f"Your prediction is kept. Once the file is right: ./course predict {lesson.number} --exercise")
        return NOT_RIGHT
    entry["measured"] = measured
    _keep(state, lesson, entry)
    screen.code("")
    _score(prediction, entry)
    screen.say(f"Shown again by: ./course predict {lesson.number} --show")
    return _exercise_agrees(lesson, prediction, measured) if exercise else RIGHT


# Asking.


def _ask(lesson: Lesson, prediction: Prediction, who: str) -> dict | None:
    """None if nothing was predicted, which it then has said."""
    screen.say((f"{lesson.number}  {lesson.title}", "bold"), ": predict, then run")
    screen.say(prediction.shape, indent=4)
    screen.say(f"Numbers may be typed as {amount.EXAMPLES}.", indent=4)
    screen.say("An empty line leaves one out. Nothing is shown, and nothing runs, before the last one.", indent=4)
    given = {}
    try:
        for one in prediction.asked:
            screen.code("")
            of = f", as recorded on {one.of}" if one.of else ""
            screen.say(f"{one.name}{of}?", (f"  ({_how(one)})", "dim"))
            number = asking.understood(one.reader())
            if number is not None:
                given[one.name] = float(number)
    except EOFError:
        screen.say("Ended before the last number: nothing was kept, and nothing was run.")
        return None
    screen.code("")
    if not given:
        screen.say("Nothing was predicted, so nothing was run.")
        return None
    return {"who": who, "when": time.time(), "shape": prediction.shape, "given": given}


def _how(one: Asked) -> str:
    what = f"in {one.unit}" if one.unit else "a number"
    return f"{what}; {_percent(one)} is close enough"


def _percent(one: Asked) -> str:
    return f"{float(one.close):.0%}"


# What is kept: a list of entries, of which one without "measured" waits for its run.


def _entries(lesson: Lesson, state: State) -> list[dict]:
    """Those that are whole: the file may have been edited."""

    def is_sound(one) -> bool:
        return (
            isinstance(one, dict)
            and all(isinstance(one.get(name), str) for name in ("who", "shape"))
            and isinstance(one.get("when"), int | float)
            and _are_numbers(one.get("given"))
            and _are_numbers(one.get("measured", {}))
        )

    return [one for one in state.record(lesson).get("predictions") or [] if is_sound(one)]


def _are_numbers(by_name) -> bool:
    return isinstance(by_name, dict) and all(isinstance(number, int | float) for number in by_name.values())


def _waiting(lesson: Lesson, prediction: Prediction, state: State, who: str) -> dict | None:
    """One that was kept, and then the run failed."""
    entries = [one for one in _entries(lesson, state) if (one["who"], one["shape"]) == (who, prediction.shape)]
    return next((one for one in entries if "measured" not in one), None)


def _keep(state: State, lesson: Lesson, entry: dict) -> None:
    others = [one for one in _entries(lesson, state) if one["when"] != entry["when"]]
    state.update(lesson, predictions=[*others, entry])


def _when(entry: dict) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(entry["when"]))


# The run.


def _measure(lesson: Lesson, prediction: Prediction, exercise: bool) -> dict[str, float] | None:
    """By name. None if the exercise does not compile or does not run, which it then has said."""
    build = Build(lesson.root)
    program = build_program(build, "bench", lesson, exercise)
    if program is None:
        return None
    results = lesson.root / ".course" / "logs" / f"predict_{lesson.number}.json"
    results.unlink(missing_ok=True)
    wanted = f"^({'|'.join(prediction.benchmarks())})(/|$)"
    command = [str(program), f"--benchmark_filter={wanted}"]
    command += ["--benchmark_min_time=0.3", f"--benchmark_out={results}", "--benchmark_out_format=json"]
    with screen.progress("running"):
        code, output = process.stream(command, lesson.root, build.logs / "predict.log")
    runs = _runs(results) if code == 0 else {}
    missing = [name for name in prediction.benchmarks() if name not in runs]
    if not missing:
        return {one.name: _number(one, runs, lesson) for one in prediction.asked}
    tail = output.strip().splitlines()[-3:]
    if not exercise:
        raise InternalError(f"{program.name} did not run {', '.join(missing)} (exit code {code}).", *tail)
    for line in tail:
        screen.code(line)
    screen.say(f"Is your file right? ./course check {lesson.number}")
    return None


def _runs(results) -> dict[str, dict]:
    try:
        found = json.loads(results.read_text(encoding="utf-8"))["benchmarks"]
    except (OSError, ValueError, KeyError):
        return {}
    sound = [run for run in found if not run.get("error_occurred")]
    return {bench_table.plain_name(run["name"]): run for run in sound}


def _number(one: Asked, runs: dict[str, dict], lesson: Lesson) -> float:
    if one.record:
        path = lesson.root / "plots" / "data" / f"{one.record}.json"
        return float(one.read(json.loads(path.read_text(encoding="utf-8"))))
    run = runs[one.benchmark]
    if one.over:
        return run["cpu_time"] / runs[one.over]["cpu_time"]  # of one thread; other programs may be running
    return float(run[one.counter])


# The score.


def _score(prediction: Prediction, entry: dict) -> None:
    """Only of what was predicted: what was left out may be predicted later."""
    asked = [one for one in prediction.asked if one.name in entry["given"] and one.name in entry["measured"]]
    right, worst = 0, (1.0, "")
    for one in asked:
        given, found = (Fraction(entry[which][one.name]) for which in ("given", "measured"))
        good = abs(given - found) <= one.close * abs(found)
        right += good
        screen.say((one.name, "bold"))
        screen.say(f"you said {amount.words(given, one.unit)}; it is {amount.words(found, one.unit)}", indent=4)
        if good:
            close = "" if given == found else f", to within {_percent(one)}"
            screen.say((f"{screen.mark('right')}Right{close}.", screen.style("right")), indent=4)
            continue
        worst = max(worst, (_factor(given, found), one.name))
        _explain(one, given, found)
    screen.code("")
    total = len(asked)
    farthest = (
        f" Farthest off: {worst[1]}, by a factor of {counting.times(worst[0])}." if 1 < worst[0] < math.inf else ""
    )
    screen.say((f"{right} of {total} predictions right.", "bold"), farthest)
    if left_out := len(prediction.asked) - total:
        screen.say(f"{left_out} left out, and so not shown.")


def _explain(one: Asked, given: Fraction, found: Fraction) -> None:
    expected = one.expected
    remark = counting.explain(given, found, expected.slips() if expected else (), expected.extents if expected else {})
    screen.say((f"{screen.mark('wrong')}Not close.", screen.style("wrong")), f" {remark}", indent=4)
    for line in expected.derivation() if expected else ():
        screen.say(line, indent=6)


def _factor(given: Fraction, found: Fraction) -> float:
    if given <= 0 or found <= 0:
        return math.inf
    return float(max(given / found, found / given))


def _exercise_agrees(lesson: Lesson, prediction: Prediction, measured: dict[str, float]) -> int:
    off = [one for one in prediction.asked if one.expected and measured[one.name] != one.expected.value()]
    for one in off:
        screen.say(
            f"Right code has another number here: {one.name}. Is your file right? ./course check {lesson.number}"
        )
    return NOT_RIGHT if off else RIGHT


def _show_all(lesson: Lesson, prediction: Prediction, state: State) -> int:
    entries = _entries(lesson, state)
    if not entries:
        screen.say(f"There is no prediction for lesson {lesson.number} yet: ./course predict {lesson.number}")
        return NOT_RIGHT
    for entry in entries:
        screen.say((f"{_when(entry)}, the {entry['who']}", "bold"), f": {entry['shape']}")
        if "measured" in entry and entry["shape"] == prediction.shape:
            _score(prediction, entry)
            continue
        for name, number in entry["given"].items():
            screen.say(f"{name}: you said {amount.words(Fraction(number))}", indent=4)
        if "measured" not in entry:
            screen.say("Not run yet.", indent=4)
    return RIGHT
