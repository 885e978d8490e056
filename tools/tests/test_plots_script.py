"""The scripts of plots/: what they share, and which figures make.py draws."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "plots"))

import data  # noqa: E402
import make  # noqa: E402
import script  # noqa: E402


class Script(unittest.TestCase):
    def end(self, main):
        with (
            mock.patch.object(sys, "argv", ["/somewhere/plots/record_v2.py"]),
            contextlib.redirect_stderr(io.StringIO()) as stderr,
            self.assertRaises(SystemExit) as ended,
        ):
            script.run(main)
        return ended.exception.code, stderr.getvalue()

    def test_each_end_has_its_exit_code(self):
        self.assertEqual(self.end(lambda: None), (None, ""))  # which is 0
        self.assertEqual(self.end(lambda: 1), (1, ""))
        self.assertEqual(self.end(mock.Mock(side_effect=data.PlotError("no GPU"))), (1, "plots/record_v2.py: no GPU\n"))
        self.assertEqual(self.end(mock.Mock(side_effect=KeyboardInterrupt)), (130, ""))

    def test_a_recorder_knows_the_commit_the_build_folder_and_where_it_writes(self):
        given = script.recorder("Times it.", "h200_v2.json").parse_args(["--commit", "1234567"])
        self.assertEqual(
            vars(given), {"commit": "1234567", "build": Path("build/cuda"), "out": data.FOLDER / "h200_v2.json"}
        )
        given = script.recorder("Times it.", "roofs.json", build=False).parse_args(["--commit", "1234567"])
        self.assertNotIn("build", given)


class Make(unittest.TestCase):
    def make(self, *arguments):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        with (
            mock.patch.object(sys, "argv", ["plots/make.py", "--out", str(folder), *arguments]),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            self.assertEqual(make.main(), 0)
        return sorted(path.name for path in folder.iterdir())

    def test_figures_that_are_asked_for_by_name(self):
        drawn = self.make("--figure", "04_memory", "--figure", "01_memory")
        self.assertEqual(drawn, ["01_memory.svg", "04_memory.svg"])

    def test_a_figure_that_is_not_there(self):
        with self.assertRaisesRegex(data.PlotError, "no figure 99_memory: must be one of 01_memory, "):
            self.make("--figure", "99_memory")


if __name__ == "__main__":
    unittest.main()
