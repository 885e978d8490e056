"""`./course demo`, on a machine with a GPU and nvcc: the same kernels there, at a size of real models, and their times."""

import cuda_tools

from . import demo_program, demo_screen, gpu, screen
from .demo_kernels import label
from .demo_screen import COLORS, line, size, total
from .errors import CourseError
from .lessons import ROOT

TOKENS, HEADS, D = 16384, 32, 64
LENGTHS = (1024, 4096)


def show(shown: dict) -> CourseError | None:
    """Says in a line why there is nothing to show, or shows it and notes it in `shown`. What went wrong is returned,
    since the rest of the demonstration does not hang on it."""
    screen.code("")
    if missing := what_is_missing():
        demo_screen.say(missing, indent=2)
        return None
    try:
        (program,) = demo_program.build(gpu.build(ROOT), "demo_kernels")
        with screen.progress("running the kernels on the GPU"):
            answers = {N: demo_program.ask(program, shape(N)) for N in LENGTHS}
    except demo_program.NoDevice as error:
        demo_screen.say(f"The GPU cannot be used: {error.message}", indent=2)
        return None
    except CourseError as error:
        demo_screen.say(
            ("The kernels did not run on this machine's GPU: the end of this output says why.", "bold red"), indent=2
        )
        return error
    shown["gpu"] = [{"shape": shape(N)} | answer for N, answer in answers.items()]
    show_times(answers)
    return None


def what_is_missing() -> str:
    """One sentence, or nothing if the kernels can run on a GPU."""
    has_gpu, nvcc = cuda_tools.has_gpu(), cuda_tools.find("nvcc")
    if has_gpu and nvcc:
        return ""
    if has_gpu:
        return "With nvcc, times on this machine's GPU would follow here: see ./course doctor."
    if nvcc:
        return "With a GPU, times would follow here: this machine has nvcc, but no GPU."
    return "With a GPU and nvcc, times would follow here. This machine has neither."


def shape(N: int) -> dict:
    return {"--B": TOKENS // N, "--H": HEADS, "--N": N, "--D": D}


def show_times(answers: dict[int, dict]) -> None:
    device = next(iter(answers.values()))["device"]
    demo_screen.say((f"The same kernels on a GPU: {device}", "bold"))
    demo_screen.say(f"{TOKENS:,} tokens, {HEADS} heads, D = {D}, fp32. Bytes are by formula.", indent=2)
    demo_screen.say("Times: median of 3 to 5 runs, after a first one whose output was checked.", indent=2)
    for N, answer in answers.items():
        screen.code("")
        show_length(N, answer["runs"])
    screen.code("")
    longest = max(answers)
    conclude(longest, answers[longest]["runs"])


def show_length(N: int, runs: list[dict]) -> None:
    width = max(8, min(28, demo_screen.width() - 46))
    slowest = max((run["seconds"] for run in runs if "seconds" in run), default=0)
    line("  ", (f"{f'N = {N}':15}{'bytes':>8}{'memory':>9}{'time':>10} {'':{width}}", "underline"))
    for run in runs:
        start = f"  {label(run):15}{size(total(run['formula'])):>8}{size(run['scratch_bytes']):>9}"
        if "skipped" in run:
            need = run["scratch_bytes"] if run["skipped"] == "HBM" else run["shared_bytes"]
            line(start, (f"   does not fit: needs {size(need)} of {run['skipped']}", "bold yellow"))
            continue
        bar = demo_screen.bar(run["seconds"], slowest, width)
        line(start, f"{milliseconds(run['seconds']):>10} ", (bar, COLORS[run["name"]]))


def milliseconds(seconds: float) -> str:
    """Three digits: 5.14 ms."""
    value = 1000 * seconds
    return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} ms"


def conclude(N: int, runs: list[dict]) -> None:
    """What time says beside the bytes: standard attention, V1 with the tiles that were fastest, and V2."""
    timed = sorted((run for run in runs if "seconds" in run), key=lambda run: run["seconds"])
    standard, v1, v2 = (next((run for run in timed if run["name"] == name), None) for name in ("standard", "V1", "V2"))
    if standard is None:
        return
    behind = False
    for run in (v1, v2):
        if run is None:
            continue
        fewer = total(standard["formula"]) / total(run["formula"])
        faster = standard["seconds"] / run["seconds"]
        time = f"is {faster:.1f} times as fast as" if faster >= 1 else f"takes {1 / faster:.1f} times as long as"
        name = run["name"]
        demo_screen.say(
            f"At N = {N}, {name} asks for {fewer:.1f} times fewer bytes, and {time} standard attention.", indent=2
        )
        behind = behind or (name == "V1" and faster < fewer)
    if behind:
        demo_screen.say("Fewer bytes are not yet less time: lessons 06 and 11 say why.", indent=2)
