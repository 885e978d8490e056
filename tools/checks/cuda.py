"""The CUDA build: nvcc compiles all of it; without a GPU the tests of .cu files are skipped, and none of them passes."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

import cuda_tools

from checks.common import ROOT, Result, build, call, lessons, tail

PRESET = "cuda-ci"


PASSED, NO_DEVICE, SKIPPED, FAILED = "passed", "skipped for want of a GPU", "skipped by itself", "failed or not run"
TOO_OLD = "skipped for want of a newer GPU"


def outcome(case: ElementTree.Element) -> str:
    if case.get("status") == "run":
        return PASSED
    skipped = case.find("skipped")
    if skipped is None or skipped.get("message") != "SKIP_RETURN_CODE=4":
        return FAILED
    said = case.findtext("system-out", "")
    if "skipped: no CUDA device: compute capability" in said:
        return TOO_OLD
    return NO_DEVICE if "skipped: no CUDA device:" in said else SKIPPED


def judge(report: str, on_cpu: set[str], on_device: set[str], with_gpu: bool) -> Iterator[Result]:
    """For each group of tests, 05/solution/..., whether they end as they must. A group not known is of .cu files.

    With a GPU a test may skip itself: some look at bytes, which only the emulator counts. And a lesson may need a newer GPU.
    """
    outcomes: dict[str, dict[str, str]] = {group: {} for group in sorted(on_cpu | on_device)}
    for case in ElementTree.fromstring(report).iter("testcase"):
        name = case.get("name", "")
        outcomes.setdefault(name.split("/")[0], {})[name] = outcome(case)
    for group, tests in outcomes.items():
        wanted = PASSED if with_gpu or group in on_cpu else NO_DEVICE
        if with_gpu and group in on_device and TOO_OLD in tests.values():
            wanted = TOO_OLD
        allowed = {wanted, SKIPPED} if wanted == PASSED else {wanted}
        others = [f"{test}: {got}" for test, got in tests.items() if got not in allowed]
        detail = "\n".join(others) or f"no test is {wanted}"
        yield Result(f"{group} in the CUDA build: {wanted}", wanted in tests.values() and not others, detail)


def run() -> Iterator[Result]:
    if not cuda_tools.find("nvcc"):
        print("  nvcc is not here, so nothing was looked at", flush=True)
        yield Result("no nvcc", True, count=0)
        return
    in_cuda = {lesson.number for lesson in lessons() if lesson.data["file"].endswith(".cu")}
    built = build(PRESET, "all", *(f"test_exercise_{number}" for number in sorted(in_cuda)))
    yield built
    if not built.ok:
        return
    report = ROOT / "build" / PRESET / "ctest.xml"
    report.unlink(missing_ok=True)
    tested = call("ctest", "--preset", PRESET, "--output-junit", report)
    yield Result("no test fails in the CUDA build", tested.returncode == 0 and report.exists(), tail(tested.stdout))
    if report.exists():
        on_cpu = {lesson.number for lesson in lessons()} - in_cuda | {"reference"}
        yield from judge(
            report.read_text(encoding="utf-8"), on_cpu, in_cuda | {"device"}, with_gpu=cuda_tools.has_gpu()
        )
