"""A temporary folder with programs that only print, for the tests of the set-up."""

import os
import stat
import tempfile
import unittest
from pathlib import Path
from unittest import mock


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()

    def program(self, name: str, prints: str) -> Path:
        """A program in bin/ that only prints."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)  # it may be a link to a program of the system, which stays as it is
        path.write_text(f"#!/bin/sh\necho '{prints}'\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def only_our_programs(self, **more: str):
        self.enterContext(mock.patch.dict(os.environ, {"PATH": str(self.folder / "bin"), **more}, clear=True))
