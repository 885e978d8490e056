"""The live part of the demonstration: what it shows of the meter, when, and on which screen."""

import json
import sys
import tempfile
from pathlib import Path
from unittest import mock

from course import demo_live, screen
from course.errors import InternalError, UsageError
from course_folder import CourseFolder


def counted(**buffers):
    """Bytes read and written, by buffer."""
    rows = {name: {"read_bytes": read, "written_bytes": written} for name, (read, written) in buffers.items()}
    sums = {way: sum(row[way] for row in rows.values()) for way in ("read_bytes", "written_bytes")}
    return sums | {"buffers": rows}


def about(name, steps, read, written):
    formula = {"read_bytes": read, "written_bytes": written}
    return {"name": name, "Br": 32, "Bc": 32, "steps": steps, "formula": formula}


PLAN = [about("standard", 1, 4000, 1000), about("V1", 6, 1200, 700)]
STEPS = [("kernel 1", counted(q=(4000, 0), S=(0, 1000)))]
STEPS += [(f"K/V tile {at} of 6", counted(q=(100 * at, 0), out=(100 * at, 100 * at), l=(0, 100))) for at in range(1, 7)]
LINES = [{"plan": PLAN}, *({"step": step, "counted": count} for step, count in STEPS), {"runs": ["the runs"]}]


def numbered():
    return [
        {"run": min(at, 1), "number": max(0, at - 1), "step": step, "counted": count}
        for at, (step, count) in enumerate(STEPS)
    ]


class Live(CourseFolder):
    def program(self, *after):
        """A program that says LINES, and then does what the other lines of Python say."""
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "demo_kernels"
        says = [f"print({json.dumps(line)!r})" for line in LINES]
        path.write_text("\n".join([f"#!{sys.executable}", "import sys, time", *says, *after]) + "\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def test_it_hands_back_the_runs_and_each_step(self):
        runs, steps = demo_live.run(self.program(), 0)
        self.assertEqual(runs, ["the runs"])
        self.assertEqual(steps, numbered())

    def test_plain_output_has_a_few_lines_for_each_algorithm(self):
        demo_live.run(self.program(), 0)
        lines = self.output().splitlines()
        self.assertEqual(len(lines), 1 + demo_live.PLAIN_LINES)
        self.assertEqual(lines[0].split(), "standard kernel 1 4.0 kB read 1.0 kB written".split())
        self.assertIn("K/V tile 6 of 6", lines[-1])  # the whole

    def test_the_live_part_takes_as_long_as_the_pace_says(self):
        with mock.patch.object(demo_live.time, "sleep") as sleep:
            demo_live.run(self.program(), 70.0)
        waits = [call.args[0] for call in sleep.call_args_list]
        self.assertEqual(len(waits), len(STEPS) + 1)
        self.assertEqual(waits, sorted(waits))
        self.assertAlmostEqual(waits[1], 10.0, delta=5)
        self.assertAlmostEqual(waits[-1], 70.0, delta=5)

    def test_a_program_that_fails_is_an_error(self):
        with self.assertRaises(InternalError) as caught:
            demo_live.run(self.program("sys.exit('demo_kernels: wrong in head 0')"), 0)
        self.assertIn("wrong in head 0", caught.exception.details)

    def test_paces(self):
        self.assertEqual(demo_live.pace("fast"), 0)
        self.assertEqual(demo_live.pace("2.5"), 2.5)
        self.assertEqual(demo_live.pace(None), 0)  # plain
        with mock.patch.object(screen, "is_plain", return_value=False):
            self.assertEqual(demo_live.pace(None), demo_live.USUAL_PACE)
            self.assertEqual(demo_live.pace(None, unseen=True), 0)
        for text in ("-1", "601", "inf", "nan", "quick", ""):
            with self.subTest(text), self.assertRaisesRegex(UsageError, "--pace"):
                demo_live.pace(text)


class Frame(CourseFolder):
    def test_all_buffers_and_all_algorithms_have_a_row(self):
        rows = [line.split() for line in demo_live.frame(PLAN, numbered()[:3], 80).plain.splitlines()]
        self.assertEqual([row[:3] for row in rows if row and row[0] == "standard"], [["standard", "5.0", "kB"]])
        (q,) = [row for row in rows if row and row[0] == "q"]
        self.assertEqual([q[1], q[2], q[-2], q[-1]], ["200", "B", "0", "B"])
        self.assertIn(["S"], rows)  # V1 has none: blank
        self.assertIn("V1, 32×32  K/V tile 2 of 6", demo_live.frame(PLAN, numbered()[:3], 80).plain)

    def test_what_grew_is_bold(self):
        text = demo_live.frame(PLAN, numbered()[:3], 80)
        bold = [text.plain[span.start : span.end].strip() for span in text.spans if span.style == "bold"]
        self.assertEqual(bold, ["200 B", "200 B", "200 B"])  # q and out read, out written; l did not grow

    def test_bars_grow_with_the_bytes_and_fit_the_terminal(self):
        for width in (60, 80, 100):
            frames = [demo_live.frame(PLAN, numbered()[: at + 1], width).plain for at in range(len(STEPS))]
            self.assertLessEqual(max(len(line) for frame in frames for line in frame.splitlines()), width)
            inked = [frame.count("█") for frame in frames[1:]]
            self.assertEqual(inked, sorted(inked))
            self.assertLess(inked[0], inked[-1])
