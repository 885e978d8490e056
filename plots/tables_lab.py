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
    rows, runs = [], record["runs"]
    for place, found in record["kernels"].items():
        wrong = found["wrong_runs"]
        tests = {0: "right", runs: "wrong"}.get(wrong, f"wrong in {wrong} of {runs}")
        tools = [tool for tool in TOOLS if found[tool]]
        rows.append([place, emulated(place), tests, ", ".join(tools) or "nothing"])
    head = ("kernel", "the emulator", f"both tests on a GPU, {runs} runs", "compute-sanitizer reports by")
    return "\n".join(
        [
            markdown(head, rows),
            "",
            f"Tools that were tried: {', '.join(TOOLS)}, one run each. {machine(record)}.",
        ]
    )
