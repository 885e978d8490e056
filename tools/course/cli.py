"""The command line."""

import argparse
import difflib
import sys
from pathlib import Path

from . import (
    __version__,
    bench,
    bug,
    bugs,
    check,
    demo,
    doctor,
    gpu,
    grade,
    hint,
    lessons,
    overview,
    predict,
    profile,
    progress,
    quiz,
    reset,
    screen,
    solution,
    suite,
    watch,
)
from .build import Build
from .errors import UsageError
from .parser import Parser
from .state import State

LESSON = "a lesson: 1, 01 or 01_naive_attention"
COMMANDS = (
    *("check", "watch", "hint", "solution", "reset", "quiz", "predict", "bug"),
    *("demo", "test", "bench", "profile", "plot", "grade", "doctor"),
)
EPILOG = """\
Every command takes --help. Exit codes: 0 right or done, 1 not right,
2 the command line is wrong, 3 the course or the machine failed,
130 Ctrl-C, which is how to end watch, so there it is 0.
"""


def run(argv: list[str], root: Path = lessons.ROOT) -> int:
    argv, plain, yes = _global_flags(argv)
    screen.setup(plain)
    if argv[:1] == ["help"]:
        argv = [*argv[1:2], "--help"]
    if argv[:1] == ["demo"]:  # the demonstrations have flags of their own
        return demo.run(argv[1:])
    argv, passed_on = _split(argv)
    _check_command(argv)
    flags = _parser().parse_args(argv)
    if passed_on and flags.command not in ("bench", "profile"):
        raise UsageError("Only bench and profile pass on what follows --.")
    known = lessons.load(root)
    state = State(root)
    wanted = getattr(flags, "lesson", None)
    chosen = None if wanted is None else lessons.find(wanted, known)
    match flags.command:
        case None:
            return overview.show(known, state, bugs.load(root))
        case "check":
            return check.check(
                chosen or progress.current(known, state),
                flags.step,
                flags.verbose,
                flags.limit,
                flags.sanitize,
                flags.gpu,
            )
        case "watch":
            return watch.watch(chosen or progress.current(known, state), known, state, flags.limit)
        case "hint":
            return hint.hint(chosen or progress.current(known, state), state, flags.step, flags.all)
        case "solution":
            return solution.solution(chosen, state, yes)
        case "reset":
            return reset.reset(chosen, state, yes)
        case "quiz":
            lesson = chosen or progress.current(known, state)
            return quiz.quiz(lesson, state, flags.seed, flags.kind, flags.json, flags.answers)
        case "predict":
            return predict.predict(chosen, state, flags.exercise, flags.show)
        case "bug":
            return bug.bug(bugs.load(root), state, flags, yes)
        case "test":
            return suite.test(chosen, gpu.build(root) if flags.gpu else Build(root))
        case "bench":
            return bench.bench(chosen, flags.exercise, passed_on, flags.gpu, flags.raw)
        case "profile":
            changes = {name: getattr(flags, name) for name in profile.EXTENTS}
            changes = {name: value for name, value in changes.items() if value is not None}
            changes |= {"causal": True} if flags.causal else {}
            return profile.profile(chosen, flags.large, changes, flags.exercise, passed_on, flags.json, flags.commit)
        case "plot":
            return bench.plot(chosen, root)
        case "grade":
            return grade.grade(grade.options(flags, known), known, root)
        case "doctor":
            return doctor.doctor(root)


def _check_command(argv: list[str]) -> None:
    """Says it better than argparse does."""
    if argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        close = difflib.get_close_matches(argv[0], COMMANDS, 1)
        raise UsageError(
            f"There is no command '{argv[0]}'." + (f" Did you mean {close[0]}?" if close else ""),
            f"The commands are: {', '.join(COMMANDS[:8])},",
            f"{', '.join(COMMANDS[8:])}",
        )


def _global_flags(argv: list[str]) -> tuple[list[str], bool, bool]:
    """--plain and --yes may stand anywhere before `--`."""
    own, rest = (argv[: argv.index("--")], argv[argv.index("--") :]) if "--" in argv else (argv, [])
    return [one for one in own if one not in ("--plain", "--yes")] + rest, "--plain" in own, "--yes" in own


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    return (argv[: argv.index("--")], argv[argv.index("--") + 1 :]) if "--" in argv else (argv, [])


def _parser() -> Parser:
    parser = Parser(
        prog="./course",
        description="Without a command: the map of the lessons and the next step.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"course {__version__}, Python {sys.version.split()[0]}")
    parser.add_argument(
        "--plain",
        action="store_true",
        help="no colors, bars or signs; chosen by itself when the output is not a terminal",
    )
    parser.add_argument("--yes", action="store_true", help="answer every question with yes")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)

    def add(name: str, short: str, example: str, more: str = "") -> Parser:
        return commands.add_parser(
            name, help=short, description=f"{short[0].upper()}{short[1:]}. {more}".strip(), epilog=f"example: {example}"
        )

    def lesson(command: Parser, optional: str = "") -> None:
        command.add_argument(
            "lesson",
            nargs="?" if optional else None,
            metavar="NN",
            help=LESSON + (f" (default: {optional})" if optional else ""),
        )

    def on_gpu(command: Parser) -> None:
        command.add_argument("--gpu", action="store_true", help="on a GPU, compiled by nvcc; CUDA lessons only")

    def how_to_check(command: Parser) -> None:
        command.add_argument("--verbose", action="store_true", help="also show all output of the compiler")
        command.add_argument(
            "--sanitize",
            action="store_true",
            help="build with the address and undefined-behavior sanitizers: slower, finds accesses out of bounds",
        )
        on_gpu(command)
        _limit(command)

    unfinished = "the one last checked that is not right, else the first that is not"
    one = add(
        "check",
        "build and test an exercise, say what is wrong",
        "./course check 01 --step 2",
        "The verdict is one of: not started, does not compile, wrong, right so far (later steps of a kernel are not "
        "written), right. The exit code is 0 for both of the last two, else 1.",
    )
    lesson(one, unfinished)
    one.add_argument("--step", type=int, metavar="K", help="only the tests of step K")
    how_to_check(one)
    one = add(
        "watch",
        "check at each save",
        "./course watch 02",
        "Moves to another lesson only when you press n. Ctrl-C or q ends it, with exit code 0.",
    )
    lesson(one, unfinished)
    _limit(one)
    one = add("hint", "show the next hint for the step that you are at", "./course hint 02")
    lesson(one, unfinished)
    one.add_argument("--all", action="store_true", help="show all hints")
    one.add_argument("--step", type=int, metavar="K", help="a hint for step K")
    one = add(
        "solution",
        "show the difference between your file and the solution",
        "./course solution 01",
        "Asks before it spoils; --yes agrees in advance.",
    )
    lesson(one)
    one = add(
        "reset",
        "put the stub back",
        "./course reset 01",
        "Keeps a copy of your file in .course/kept/ and says where. Asks first; --yes agrees in advance.",
    )
    lesson(one)
    one = add(
        "quiz",
        "ask the lesson's questions, with numbers that are new each time",
        "./course quiz 06 --seed 7",
        "Answers are judged and explained, and .course/ remembers which kinds of questions were right. Without a terminal, "
        "reads a line for each question. The exit code is 0 if all were right, else 1.",
    )
    lesson(one, unfinished)
    one.add_argument(
        "--seed", type=int, metavar="N", help="draw the same numbers each time (default: others each time)"
    )
    one.add_argument("--kind", metavar="NAME", help="only this kind of question")
    one.add_argument("--answers", action="store_true", help="ask nothing; show questions, answers and derivations")
    one.add_argument("--json", action="store_true", help="ask nothing; print the questions as one document")
    one = add(
        "predict",
        "ask what a run will count, then run, then say how far off that was",
        "./course predict 06",
        "The numbers are kept in .course/ before anything runs. The exit code is 0 once there is a score.",
    )
    lesson(one)
    one.add_argument("--exercise", action="store_true", help="run your file instead of the solution")
    one.add_argument("--show", action="store_true", help="ask and run nothing; show what was predicted so far")
    one = add(
        "bug",
        "find the bug: ten short kernels with one fault each",
        "./course bug 03",
        "Without a number: the kernels, and which faults are found. With one: builds and tests your file of that kernel, and "
        "shows what the emulator reports. The exit code is 0 if the fault is found, else 1.",
    )
    one.add_argument("bug", nargs="?", metavar="NN", help="a kernel: 3 or 03")
    one.add_argument("--answer", action="store_true", help="show the fault; asks first, --yes agrees in advance")
    one.add_argument(
        "--reset", action="store_true", help="put the fault back, and keep a copy of your file; asks first"
    )
    how_to_check(one)
    commands.add_parser(
        "demo",
        help="count the bytes moved, live, and show figures; `demo tiles` walks over the tiles, `demo invariant` shows "
        "the online softmax, `demo accuracy` the errors in half precision",
        add_help=False,
    )
    one = add(
        "test",
        "run all tests, against the solutions",
        "./course test 03",
        "The exit code is CTest's; it is 1 if every test was skipped.",
    )
    lesson(one, "all lessons")
    on_gpu(one)
    one = add(
        "bench",
        "run a lesson's benchmarks",
        "./course bench 03 -- --benchmark_filter=1024",
        "What follows -- goes to Google Benchmark.",
    )
    lesson(one)
    one.add_argument("--exercise", action="store_true", help="measure your file instead of the solution")
    one.add_argument("--raw", action="store_true", help="the output of Google Benchmark as it is, in place of a table")
    on_gpu(one)
    one = add(
        "profile",
        "show the bytes of a CUDA lesson by formula, by the emulator, and by the counters of a GPU if there is one",
        "./course profile 06 --large",
        "The exit code is 1 if the bytes differ from the formula. What follows -- goes to the lesson's program.",
    )
    lesson(one)
    one.add_argument("--exercise", action="store_true", help="your file instead of the solution")
    one.add_argument("--large", action="store_true", help="264 heads of N = 2048, far larger than L2; needs a GPU")
    for name, meaning in profile.EXTENTS.items():
        one.add_argument(f"--{name}", type=int, metavar="N", help=meaning)
    one.add_argument("--causal", action="store_true", help="with the causal mask")
    one.add_argument("--json", type=Path, metavar="FILE", help="also record it in FILE")
    one.add_argument(
        "--commit", metavar="ID", help="recorded with it (default: $COURSE_COMMIT, else what git says of this folder)"
    )
    one = add("plot", "make the figures", "./course plot 03")
    lesson(one, "all lessons")
    grade.add_arguments(add("grade", *grade.HELP), LESSON)
    add(
        "doctor",
        "say what is installed and what is missing",
        "./course doctor",
        "The exit code is 1 if something essential is missing.",
    )
    return parser


def _limit(command: Parser) -> None:
    meaning = f"end the tests after this time (default: {check.LIMIT:g}, and {check.LIMIT_OF_TEST:g} for one test)"
    command.add_argument("--limit", type=float, metavar="SECONDS", help=meaning)
