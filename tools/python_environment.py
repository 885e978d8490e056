"""The Python packages of the runner: in the private environment .venv, or those of the system. Standard library only."""

import json
import os
import sys

import packages
from setup_log import FOLDER, offline, remember, remembered, run, show_failure

REQUIREMENTS = FOLDER.parent / "tools" / "requirements.txt"
VENV = FOLDER.parent / ".venv"
PRIVATE_PYTHON = str(VENV / "bin" / "python")
FINISHED = VENV / "finished.json"  # written last: without it, or with another content, the environment is made anew
SYSTEM_PYTHON = "/usr/bin/python3"  # the one that sees the packages that apt installs
HAS_PACKAGES = """
import importlib.util
import sys
sys.exit(sys.version_info < (3, 11) or None in map(importlib.util.find_spec, ("rich", "matplotlib")))
"""


def contents() -> dict:
    """What .venv is made of: equal to what FINISHED holds only while nothing is missing or replaced."""
    folders = VENV.glob("lib/python3*/site-packages/*")
    return {
        "requirements": REQUIREMENTS.read_text(),
        "python": os.path.realpath(PRIVATE_PYTHON),
        "files": sorted(str(path.relative_to(VENV)) for path in folders if path.name != "__pycache__"),
    }


def venv_is_complete() -> bool:
    try:
        finished = json.loads(FINISHED.read_text())
        now = contents()
        same = all(finished[key] == now[key] for key in ("requirements", "python"))
        return same and os.path.exists(now["python"]) and set(finished["files"]) <= set(now["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def make_venv(log) -> bool:
    # Wheels only: without them, pip would try to compile numpy and matplotlib.
    flags = "--disable-pip-version-check --no-input --progress-bar off --only-binary :all:".split()
    install = [PRIVATE_PYTHON, "-m", "pip", "install", *flags, "--requirement", str(REQUIREMENTS)]
    no_network = {"PIP_NO_INDEX": "1"} if offline() else {}
    made = run("Making the private Python environment .venv", [sys.executable, "-m", "venv", "--clear", str(VENV)], log)
    if made and run("Installing the Python packages into it", install, log, **no_network):
        FINISHED.write_text(json.dumps(contents(), indent=1) + "\n")
        remember(python="private")
        return True
    show_failure("The private Python environment could not be made")
    return False


def system_python() -> str | None:
    """A Python outside .venv that has the packages the runner cannot do without."""
    for python in dict.fromkeys([sys.executable, SYSTEM_PYTHON]):
        if packages.succeeds(python, "-c", HAS_PACKAGES):
            return python
    return None


def runner_python() -> str | None:
    """The Python that can start the runner now, or None."""
    if remembered().get("python") == "system" and (python := system_python()):
        return python
    return PRIVATE_PYTHON if venv_is_complete() else None
