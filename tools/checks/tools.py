"""The tests of the runner, of the set-up and of these checks: tools/tests."""

import os
import re
import sys
from collections.abc import Iterator

from checks.common import ROOT, Result, call, tail


def run() -> Iterator[Result]:
    os.environ["PYTHONPATH"] = str(ROOT / "tools")  # for the tests' imports, and for the programs that they start
    ran = call(sys.executable, "-m", "unittest", "discover", "--start-directory", "tools/tests")
    count = re.search(r"^Ran (\d+) tests?", ran.stdout, re.MULTILINE)
    ok = ran.returncode == 0 and count is not None and int(count[1]) > 0
    yield Result("tools/tests", ok, tail(ran.stdout, 60), count=int(count[1]) if ok and count else 1)
