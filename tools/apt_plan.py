"""Which apt commands install a list of packages, and from where. Nothing here runs them; tools/bootstrap.py does.

Standard library only.
"""

import os
import re
import shutil
from pathlib import Path
from typing import NamedTuple

from packages import output

QUIET = ["env", "DEBIAN_FRONTEND=noninteractive"]  # no questions from packages
REPAIR = [*QUIET, "dpkg", "--configure", "-a"]
UPDATE = ["apt-get", "update"]
WAIT = ["-o", "DPkg::Lock::Timeout=120"]  # for another apt to end, such as the nightly upgrade
INSTALL = [*QUIET, "apt-get", *WAIT, "install", "-y", "--no-install-recommends"]
SOURCES = Path("/etc/apt/sources.list.d")

# Where Debian's own packages are too old: (system, release, package) -> the suite that has a newer one.
NEWER = {("debian", "bookworm", "catch2"): "bookworm-backports"}


def system_release(path: Path = Path("/etc/os-release")) -> tuple[str, str]:
    """As in ("debian", "bookworm")."""
    try:
        fields = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', path.read_text(), re.MULTILINE))
    except OSError:
        return "", ""
    return fields.get("ID", ""), fields.get("VERSION_CODENAME", "")


class Source(NamedTuple):
    """One entry of apt's sources: a line of a .list file, or a stanza of a .sources file."""

    form: str  # list or sources
    suites: list[str]
    rest: str  # mirror, key and options

    def with_suite(self, suite: str) -> str:
        """The same for the component main of another suite."""
        if self.form == "list":
            return f"deb {self.rest} {suite} main\n"
        return f"Types: deb\nSuites: {suite}\nComponents: main\n{self.rest}\n"


def read_list(text: str) -> list[Source]:
    entries = re.findall(r"^\s*deb\s+((?:\[[^\]]*\]\s+)?\S+)\s+(\S+)", text, re.MULTILINE)
    return [Source("list", [suite], rest) for rest, suite in entries]


def read_stanzas(text: str) -> list[Source]:
    sources = []
    plain = re.sub(r"^#.*\n?", "", text, flags=re.MULTILINE)
    for stanza in re.split(r"\n\s*\n", plain):
        found = re.finditer(r"^([\w-]+):(.*(?:\n[ \t].*)*)", stanza, re.MULTILINE)
        fields = {field[1].lower(): field for field in found}
        value = {name: field[2].split() for name, field in fields.items()}
        disabled = value.get("enabled", ["yes"])[0].lower() in ("no", "false", "without", "off", "disable")
        if "deb" in value.get("types", []) and not disabled:
            replaced = ("types", "suites", "components", "enabled")
            rest = "\n".join(field[0] for name, field in fields.items() if name not in replaced)
            sources.append(Source("sources", value.get("suites", []), rest))
    return sources


def read_sources(etc: Path = Path("/etc/apt")) -> list[Source]:
    """All enabled sources of binary packages that are not on a disc."""
    sources = []
    for path in [etc / "sources.list", *sorted(etc.glob("sources.list.d/*.list"))]:
        if path.is_file():
            sources += read_list(path.read_text(errors="replace"))
    for path in sorted(etc.glob("sources.list.d/*.sources")):
        sources += read_stanzas(path.read_text(errors="replace"))
    return [source for source in sources if "cdrom:" not in source.rest]


def missing_source(suite: str, release: str, sources: list[Source]) -> tuple[str, str] | None:
    """The file name and content that add a suite from the mirror in use. None: it is there already, or no mirror is known."""
    if any(suite in source.suites for source in sources):
        return None
    # The mirror that carries the updates carries the backports too; a vendor's extra archive may share the release's name.
    for known in (f"{release}-updates", release, "oldstable-updates", "stable-updates", "oldstable", "stable"):
        for source in sources:
            if known in source.suites:
                return f"course-{suite}.{source.form}", source.with_suite(suite)
    return None


def full_name(package: str) -> str:
    """As apt wants it: with the suite, where the release's own package is too old."""
    suite = NEWER.get((*system_release(), package))
    return f"{package}/{suite}" if suite else package


class Plan(NamedTuple):
    sudo: list[str]  # empty for root, and where there is no sudo
    repair: bool  # an earlier installation was interrupted
    source: Path | None  # written beforehand, to be copied to SOURCES
    packages: list[str]

    def commands(self) -> list[tuple[str, list[str]]]:
        """What each command is for, and the command, in order. The last one installs."""
        steps = []
        if self.repair:
            steps.append(("Completing an interrupted installation", REPAIR))
        if self.source:
            copy = ["install", "-m", "644", str(self.source), str(SOURCES / self.source.name)]
            steps.append(("Adding a source of packages", copy))
        steps.append(("Updating the lists of packages", UPDATE))
        steps.append(("Installing packages of the system", [*INSTALL, *self.packages]))
        return [(what, [*self.sudo, *command]) for what, command in steps]

    def removal(self) -> list[str]:
        """Takes the source away again."""
        return [*self.sudo, "rm", "-f", str(SOURCES / self.source.name)]


def make(wanted: list[str], folder: Path) -> Plan:
    """Plans to install these packages. A source that has to be added is written to folder, for the commands to copy."""
    _, release = system_release()
    names, source = [full_name(package) for package in wanted], None
    for suite in sorted({name.split("/")[1] for name in names if "/" in name}):
        missing = missing_source(suite, release, read_sources())
        if missing:
            source = folder / missing[0]
            source.write_text(missing[1])
    sudo = ["sudo"] if os.geteuid() != 0 and shutil.which("sudo") else []
    interrupted = output("dpkg", "--audit").strip() or any(Path("/var/lib/dpkg/updates").glob("*"))
    return Plan(sudo, bool(interrupted), source, names)


def is_offered(package: str) -> bool:
    """Whether the sources of this system have a package, given as name or name/suite."""
    return bool(output("apt-cache", "show", package))


def advice() -> str:
    """What to do when packages are not offered."""
    if system_release()[0] == "ubuntu":
        return "Most of them are in the component universe: sudo add-apt-repository universe"
    return "It may need another source in /etc/apt/sources.list.d."
