"""Sets the course up and starts the runner: packages of the system, a private Python environment, `python -m course`.

Started by ./course. Standard library only, because nothing else is there yet. What is needed stands in packages.py, how apt
brings it in apt_plan.py, the Python packages in python_environment.py. Each start looks again at what is there, so the next one completes a set-up that was interrupted.
The runner imports report() for `./course doctor`.
"""

import os
import shlex
import shutil
import sys
from typing import NamedTuple

import apt_plan
import packages
import setup_log
from python_environment import PRIVATE_PYTHON, make_venv, runner_python, system_python
from setup_log import FOLDER, SetupError, may_install, remember, run, say, show_failure

HELP = """usage: ./course [--yes] [COMMAND] [ARGUMENTS]

The course is not set up yet. Any command, such as ./course demo, sets it up first: it shows what it would install, and asks.

  ./course doctor         shows what is needed and what is missing; installs nothing
  ./course --yes COMMAND  agrees to the installation in advance (or: COURSE_YES=1)

After that, ./course --help lists all commands."""


# --- Python packages ----------------------------------------------------------------------------------------------------


def prepare_python(agreed: bool, log) -> str:
    """Makes the private environment, or falls back to the system's packages."""
    if make_venv(log):
        return PRIVATE_PYTHON
    python = system_python()
    if not python and shutil.which("apt-get"):
        wanted = ["python3-rich", "python3-matplotlib"]
        if apt_plan.is_offered("python3-watchfiles"):
            wanted.append("python3-watchfiles")
        say("\nPackages of the system can serve instead, in the versions that it has.")
        install(wanted, agreed, log)
        python = system_python()
    if not python:
        with_apt = " (python3-rich and python3-matplotlib in Debian and Ubuntu)" if shutil.which("apt-get") else ""
        raise SetupError(
            "The runner needs the Python packages rich and matplotlib. "
            f"Run ./course again with a network, or install them{with_apt}."
        )
    remember(python="system")
    say(f"From now on the course uses {python} and the packages it has. To change that, remove .course/setup.json.")
    return python


# --- packages of the system ---------------------------------------------------------------------------------------------


def install(wanted: list[str], agreed: bool, log) -> None:
    """Shows the commands that install these packages of Debian or Ubuntu, and runs them if that is agreed to."""
    plan = apt_plan.make(wanted, FOLDER)
    say("These commands install what is missing:\n")
    for _, command in plan.commands():
        say(f"    {shlex.join(command)}")
    if plan.source:
        say(f"\n{apt_plan.SOURCES / plan.source.name} adds a suite of the mirror that this computer uses already:\n")
        say("".join(f"    {line}\n" for line in plan.source.read_text().splitlines()).rstrip("\n"))
    say()
    if not may_install(agreed):
        return
    *before, _ = plan.commands()
    for what, command in before:
        if not run(what, command, log):
            show_failure(f"{what} failed")  # what the lists know already may be enough
            if any(line.startswith("sudo:") for line in setup_log.last_lines(3)):
                return  # sudo refused: do not ask for the password again and again
    offered = [name for name in plan.packages if apt_plan.is_offered(name)]
    unknown = [name for name in plan.packages if name not in offered]
    if unknown:
        say(f"The sources of this system do not offer {' '.join(unknown)}. {apt_plan.advice()}")
        if plan.source and any("/" in name for name in unknown):
            run("Removing the added source again", plan.removal(), log)
    if offered:
        what, command = plan._replace(packages=offered).commands()[-1]
        if not run(what, command, log):
            show_failure(f"{what} failed")


def missing_needs() -> dict[packages.Need, packages.Found]:
    found = {need: need.find() for need in packages.NEEDS}
    return {need: what for need, what in found.items() if not what.version}


def describe(need: packages.Need, found: packages.Found) -> str:
    return f"    {need.name}: {need.needed}" + (f" ({found.remark})" if found.remark else "")


def prepare_system(missing: dict, venv_package: str | None, agreed: bool, log) -> None:
    say("The course needs these, and this computer does not have them:\n")
    for need, found in missing.items():
        say(describe(need, found))
    if venv_package:
        say("    Python's venv module: for the private Python environment .venv")
    say()
    if shutil.which("apt-get"):
        install([need.package for need in missing] + ([venv_package] if venv_package else []), agreed, log)
    else:
        say("Install them with the package manager of this system. Only with apt-get is that automated.")
    still = missing_needs()
    essential = [describe(*item) for item in still.items() if not item[0].without]
    if essential:
        advice = "Run ./course again when they are there. If this system only has older ones, put newer ones first on the PATH."
        raise SetupError("\n".join(["The course cannot go on without:\n", *essential, "", advice]))
    for need in still:
        say(f"{need.name} is not there: {need.without}.")
    if setup_log.can_ask() and not setup_log.offline():
        remember(declined=sorted(need.name for need in still))


def set_up(agreed: bool) -> str:
    """Makes everything ready and returns the Python to start the runner with. Quick when there is nothing to do."""
    missing = missing_needs()
    python = runner_python()
    declined = set(setup_log.remembered().get("declined", []))
    known = not agreed and all(need.without and need.name in declined for need in missing)
    if python and (not missing or known):
        return python
    with setup_log.one_at_a_time() as log:
        missing, python = missing_needs(), runner_python()  # another set-up may just have ended
        venv_package = None if python else packages.missing_venv_package()
        if venv_package or (missing and not known):
            prepare_system(missing, venv_package, agreed, log)
        return python or prepare_python(agreed, log)


# --- what ./course doctor reports ---------------------------------------------------------------------------------------

OPTIONAL = {need.name for need in packages.NEEDS if need.without} | {"watchfiles"}


class Row(NamedTuple):
    name: str
    needed: str
    found: str | None  # the version; None: missing, or not good enough
    how: str  # how to get it; empty when it is there


def report() -> list[Row]:
    """Everything that the course needs, and what is there. Changes nothing."""
    rows = [Row("Python", "3.11 or newer", ".".join(map(str, sys.version_info[:3])), "")]
    apt = shutil.which("apt-get")
    for need in packages.NEEDS:
        found = need.find()
        how = f"apt-get install {apt_plan.full_name(need.package)}" if apt else "the package manager of this system"
        remark = f"{found.remark}; " if found.remark else ""
        rows.append(Row(need.name, need.needed, found.version, "" if found.version else remark + how))
    python = runner_python()
    versions = packages.python_packages(python) if python else {}
    for name in ("rich", "matplotlib", "watchfiles"):
        how = "" if name in versions else f"any command of ./course, or apt-get install python3-{name}"
        rows.append(Row(name, "a Python package", versions.get(name), how))
    return rows


def missing_essentials(rows: list[Row]) -> list[Row]:
    """What nothing works without. The rest costs a feature or a download."""
    return [row for row in rows if row.found is None and row.name not in OPTIONAL]


def doctor() -> int:
    """The report in plain text, for as long as the runner cannot start."""
    rows = report()
    lines = [(row.name, row.needed, row.found or "MISSING", row.how) for row in rows]
    table = [("", "needed", "found", "how to get it"), *lines]
    widths = [max(len(line[column]) for line in table) for column in range(3)]
    for line in table:
        print("  ".join([cell.ljust(width) for cell, width in zip(line, widths, strict=False)] + [line[3]]).rstrip())
    print("\nThe runner itself cannot start yet. ./course demo sets up what is missing, after asking.")
    return 1 if missing_essentials(rows) else 0


# --- start --------------------------------------------------------------------------------------------------------------


def start(python: str, arguments: list[str]) -> None:
    """Becomes the runner."""
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parent / "tools")}
    compiler, _ = packages.choose_compiler()
    if compiler:
        environment["CXX"] = compiler
    os.execve(python, [python, "-P", "-m", "course", *arguments], environment)  # -P: no module of the current folder


def main(arguments: list[str]) -> int:
    flags = arguments[: arguments.index("--")] if "--" in arguments else arguments
    agreed = "--yes" in flags or os.environ.get("COURSE_YES") == "1"
    command = next((word for word in flags if not word.startswith("-")), None)
    asks_for_help = "--help" in flags or "-h" in flags
    if asks_for_help or command == "doctor":  # these two install nothing
        python = runner_python()
        if not python and not asks_for_help:
            return doctor()
        if not python:
            print(HELP)
            return 0
    else:
        python = set_up(agreed)
    start(python, arguments)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        say("\nInterrupted. The next ./course goes on with what is missing.")
        sys.exit(130)
    except SetupError as error:
        say(f"\n{error}")
    except OSError as error:
        say(f"The set-up cannot go on: {error.filename or 'the system'}: {error.strerror}")
    sys.exit(1)
