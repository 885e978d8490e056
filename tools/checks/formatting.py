"""C++ is formatted by clang-format and Python by ruff, in the versions that tools/requirements-dev.txt pins."""

from collections.abc import Iterator

from checks.common import ROOT, Result, call, tail

FOLDERS = ("reference", "lessons", "exercises", "solutions", "tools/demo")
ENDINGS = (".h", ".cpp", ".cu", ".cuh")


def run() -> Iterator[Result]:
    files = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.*") if file.suffix in ENDINGS)
    ran = call("clang-format", "--dry-run", "--Werror", *files)
    yield Result(f"clang-format of {len(files)} files", ran.returncode == 0 and bool(files), tail(ran.stdout))
    for command in (["check"], ["format", "--check"]):
        ran = call("ruff", *command, "tools", "plots", "lessons")
        yield Result(f"ruff {' '.join(command)}", ran.returncode == 0, tail(ran.stdout))
