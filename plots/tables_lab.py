"""The table of the lab "find the bug": what tests and tools say on a GPU of faults that the emulator reports."""

from pathlib import Path

from cells import machine, markdown

REPORTS = Path(__file__).parent.parent / "lessons/find_the_bug/reports"
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")  # of compute-sanitizer


def emulated(place: str) -> str:
    """What `./course bug NN` reports: the second line of what is recorded of it, and of that the message alone."""
    (report,) = REPORTS.glob(f"{place}_*.txt")
    message = report.read_text(encoding="utf-8").splitlines()[1]
    return message.removeprefix("shared memory: ").removeprefix("dynamic shared memory: ").removeprefix("HBM: ")


def lab(record: dict) -> str:
    kernels, runs = record["kernels"], record["runs"]
    rows = []
    for place, found in kernels.items():
        wrong = found["wrong_runs"]
        tests = {0: "right", runs: "wrong"}.get(wrong, f"wrong in {wrong} of {runs}")
        rows.append([place, f"`{emulated(place)}`", tests, ", ".join(tools(found)) or "nothing"])
    by_tests = {place for place, found in kernels.items() if found["wrong_runs"]}
    by_tools = {place for place, found in kernels.items() if tools(found)}
    neither = ", ".join(place for place in kernels if place not in by_tests | by_tools) or "none"
    head = ("kernel", "the emulator reports", f"both tests on a GPU, {runs} runs", "compute-sanitizer reports it by")
    return "\n".join(
        [
            markdown(head, rows, align="---"),
            "",
            f"On this GPU the tests alone find {len(by_tests)} of {len(kernels)} faults, compute-sanitizer finds {len(by_tools)}, and neither "
            f"finds: {neither}. Tools that",
            f"were tried, one run each: {', '.join(TOOLS)}. {machine(record)}.",
        ]
    )


def tools(found: dict) -> list[str]:
    """Those that reported something."""
    return [tool for tool in TOOLS if found[tool]]
