"""Git, asked about the course."""

import subprocess
from pathlib import Path


def run(root: Path, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess:
    """Raises FileNotFoundError where git is not installed.

    Git reads no checkout that another user owns, such as a folder shared with a container, for that user's settings could start
    programs. Whoever runs the course's own code from this folder trusts it already.
    """
    trusted = ["-c", f"safe.directory={root.resolve()}"]
    return subprocess.run(["git", *trusted, *arguments], cwd=root, capture_output=True, input=given)
