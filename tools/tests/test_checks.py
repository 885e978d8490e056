"""The checks must be able to fail: each is shown something wrong here."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from checks import __main__ as driver
from checks import equal, lessons, mistakes, snippets
from checks.common import Lesson, Result

SOLUTION = """\
int f() {
  // Step 1: the answer.
  return 42;
}

int g() { return 1; }
"""
EXERCISE = """\
int f() {
  // TODO begin
  fa::todo("Step 1");
  // TODO end
}

int g() { return 1; }
"""


class Equal(unittest.TestCase):
    def test_a_faithful_exercise_passes(self):
        self.assertIsNone(equal.difference(EXERCISE, SOLUTION))

    def test_a_drift_before_a_region_is_found(self):
        self.assertIn("int f(int x)", equal.difference(EXERCISE.replace("int f()", "int f(int x)"), SOLUTION))

    def test_a_drift_after_the_last_region_is_found(self):
        self.assertIn("return 2", equal.difference(EXERCISE, SOLUTION.replace("return 1", "return 2")))

    def test_a_drift_between_regions_is_found(self):
        two = EXERCISE.replace("{ return 1; }", "{\n  // TODO begin\n  // TODO end\n}")
        wide = SOLUTION.replace("{ return 1; }", "{\n  return 1;\n}")
        self.assertIsNone(equal.difference(two, wide))
        self.assertIsNotNone(equal.difference(two, wide.replace("int g", "long g")))

    def test_an_exercise_that_is_the_solution_is_found(self):
        self.assertIsNotNone(equal.difference(SOLUTION, SOLUTION))

    def test_lines_that_are_missing_in_the_exercise_are_found(self):
        self.assertIsNotNone(equal.difference(EXERCISE.replace("\nint g() { return 1; }", ""), SOLUTION))

    def test_markers_must_pair_up(self):
        self.assertIn("TODO", equal.difference(EXERCISE.replace("  // TODO end\n", ""), SOLUTION))
        self.assertIn("TODO", equal.difference(EXERCISE.replace("  // TODO begin\n", ""), SOLUTION))


class Mistakes(unittest.TestCase):
    def test_a_mistake_is_applied(self):
        wrong = mistakes.apply({"name": "x", "find": "return 42", "replace": "return 41"}, SOLUTION)
        self.assertEqual(wrong, SOLUTION.replace("42", "41"))

    def test_find_must_occur_exactly_once(self):
        for find in ("return", "no such text"):
            with self.assertRaises(ValueError):
                mistakes.apply({"name": "x", "find": find, "replace": ""}, SOLUTION)

    def judged(
        self,
        returncode: int,
        report: str | None,
        stdout: str = "implementation: mistake off_by_one\n",
    ) -> Result:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "build/cpu/mistakes/01_x/off_by_one/report.xml"
            file.parent.mkdir(parents=True)

            def run(*command, **_):
                self.command = command
                if report is not None:
                    file.write_text(report)
                return mock.Mock(returncode=returncode, stdout=stdout)

            with mock.patch.object(mistakes, "ROOT", Path(folder)), mock.patch.object(mistakes, "call", run):
                lesson = Lesson("01_x", {"file": "attention_forward.cpp"})
                return mistakes.fails(lesson, {"name": "off_by_one"}, "the property")

    def report(self, name: str) -> str:
        return f'<Catch2TestRun><TestCase name="{name}"><OverallResult success="false"/></TestCase></Catch2TestRun>'

    def test_a_mistake_that_is_caught_by_its_test_passes(self):
        self.assertTrue(self.judged(1, self.report("the property")).ok)

    def test_a_name_is_written_as_catch2_takes_it(self):
        self.assertEqual(mistakes.exactly("q[i], k and v"), "q\\[i\\]\\, k and v")

    def test_a_survivor_is_found(self):
        self.assertIn("survives", self.judged(0, self.report("the property")).detail)

    def test_a_crash_does_not_count_as_caught(self):
        self.assertIn("crashes", self.judged(-11, "<Catch2TestRun><TestCase name='the pro").detail)
        self.assertIn("crashes", self.judged(-11, None).detail)

    def test_nor_does_a_crash_after_which_catch2_completes_its_report(self):
        crash = '<FatalErrorCondition filename="t.cpp" line="1">SIGSEGV</FatalErrorCondition><OverallResult'
        self.assertIn("crashes", self.judged(1, self.report("the property").replace("<OverallResult", crash)).detail)

    def test_another_test_that_catches_it_is_not_enough(self):
        self.assertIn("not caught by", self.judged(1, self.report("another property")).detail)

    def test_a_binary_that_tests_something_else_is_found(self):
        stdout = "implementation: solution solutions/01_x/file.cpp\n"
        self.assertFalse(self.judged(1, self.report("the property"), stdout).ok)


class Snippets(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.root = Path(folder)
        (self.root / "code.cpp").write_text(
            "a\n  // [one]\n  int x;\n    int y;\n  // [/one]\n// [two]\nint x;\nint z;\n// [/two]\n"
        )
        self.enterContext(mock.patch.object(snippets, "ROOT", self.root))

    def test_a_snippet_is_filled_and_then_stable(self):
        text = snippets.filled("before\n<!-- snippet: code.cpp#one -->\nafter\n")
        self.assertEqual(text, "before\n<!-- snippet: code.cpp#one -->\n```cpp\nint x;\n  int y;\n```\nafter\n")
        self.assertEqual(snippets.filled(text), text)

    def test_a_stale_snippet_is_found(self):
        file = self.root / "text.md"
        file.write_text("<!-- snippet: code.cpp#one -->\n```cpp\nint x;\n```\n")
        self.assertFalse(snippets.check(file).ok)

    def test_a_difference_is_cut(self):
        text = snippets.filled("<!-- diff: code.cpp#one code.cpp#two -->\n")
        self.assertIn("-  int y;\n+int z;", text)

    def test_a_marker_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(ValueError, "line 1: code.cpp#three"):
            snippets.filled("<!-- snippet: code.cpp#three -->\n")

    def test_only_the_course_may_be_run(self):
        with self.assertRaisesRegex(ValueError, "must be ./course"):
            snippets.filled("<!-- output: rm -rf x -->\n")


class Links(unittest.TestCase):
    def test_a_broken_link_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder) / "text.md"
            text.write_text("[a](text.md) [b](gone.md#part) [c](https://example.org) ![d](gone.svg) [e](#part)")
            self.assertEqual(lessons.broken_links(text), ["gone.md", "gone.svg"])


class Driver(unittest.TestCase):
    def run_with(self, results) -> tuple[int, str]:
        module = mock.Mock(run=lambda: iter(results))
        out = io.StringIO()
        with mock.patch.object(driver.importlib, "import_module", return_value=module), contextlib.redirect_stdout(out):
            return driver.main(["equal"]), out.getvalue().splitlines()[-1]

    def test_counts_and_exit_code(self):
        self.assertEqual(self.run_with([Result("a", True, count=3)]), (0, "3 passed, 0 failed"))
        self.assertEqual(self.run_with([Result("a", True), Result("b", False)]), (1, "1 passed, 1 failed"))

    def test_a_check_that_looks_at_nothing_fails(self):
        self.assertEqual(self.run_with([]), (1, "0 passed, 1 failed"))

    def test_a_check_that_stops_with_an_exception_fails(self):
        def run():
            yield Result("a", True)
            raise OSError("gone")

        self.assertEqual(self.run_with(run()), (1, "1 passed, 1 failed"))

    def test_an_unknown_check_is_refused(self):
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(driver.main(["nonsense"]), 2)


if __name__ == "__main__":
    unittest.main()
