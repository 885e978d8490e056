"""./course predict: keeps the numbers, then runs, then says how far off they were."""

import io
import json
import sys
import time
import unittest
from unittest import mock

from course import cli, predict, quiz_file
from course.errors import InternalError, UsageError
from course_folder import NAME, CourseFolder
from test_quiz_questions import with_questions

QUIZ = """\
from course import formulas
from course.prediction import Prediction, counted, ratio_of_times, recorded
QUESTIONS = ()
PREDICTION = Prediction(
    "One head, N = 256.",
    (
        counted("bytes read", "v1/N:256", "read_bytes", formulas.v1_read(256, 256, 64, 32)),
        counted("working memory", "v1/N:256", "scratch_bytes", formulas.v1_scratch(256)),
        ratio_of_times("slow over fast", "slow/N:256", over="v1/N:256"),
        recorded("V1 over standard", "a GPU", "gpu", lambda record: record["v1"] / record["standard"]),
    ),
)
"""
RIGHT = b"1,196,032\n2 KiB\n2\n3\n"
RUNS = [
    {"name": "v1/N:256/iterations:1", "cpu_time": 2.0, "read_bytes": 1196032.0, "scratch_bytes": 2048.0},
    {"name": "slow/N:256", "cpu_time": 4.0},
]


class Predicted(CourseFolder):
    def setUp(self):
        super().setUp()
        self.write(f"lessons/{NAME}/quiz.py", QUIZ)
        self.write("plots/data/gpu.json", json.dumps({"v1": 6, "standard": 2}))

    def run_predict(self, typed: bytes, *arguments, runs=RUNS, ends="", builds=True):
        """With a bench_01 that writes these runs to where it is told."""
        program = self.root / "bench_01"
        document = json.dumps({"benchmarks": runs})
        program.write_text(
            f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:])\n{ends}\n"
            "path = next(a for a in sys.argv if a.startswith('--benchmark_out=')).partition('=')[2]\n"
            f"open(path, 'w').write({document!r})\n"
        )
        program.chmod(0o755)
        self.said.clear()
        self.built = mock.Mock(return_value=program if builds else None)
        with (
            mock.patch.object(predict, "build_program", self.built),
            mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed))),
            mock.patch("course.screen.setup"),
        ):
            return cli.run(["predict", "1", *arguments], self.root)

    def kept(self):
        return self.state.record(self.lesson).get("predictions") or []

    def test_right_numbers(self):
        self.assertEqual(self.run_predict(RIGHT), 0)
        self.assertIn("4 of 4 predictions right.", self.output())
        (entry,) = self.kept()
        self.assertEqual(entry["given"]["working memory"], 2048)
        self.assertEqual(entry["measured"]["slow over fast"], 2)
        log = (self.root / ".course/logs/predict.log").read_text()
        self.assertIn("--benchmark_filter=^(v1/N:256|slow/N:256)(/|$)", log)

    def test_what_cannot_be_kept_is_not_asked_for(self):
        self.write(".course/state.lock/file", "in a folder where the file should be\n")
        with self.assertRaisesRegex(InternalError, "Cannot write in .course/"):
            self.run_predict(RIGHT)
        self.assertEqual(self.output(), "")

    def test_wrong_numbers_are_explained(self):
        self.assertEqual(self.run_predict(b"299008\n16384*2\n4\n30\n"), 0)
        output = self.output()
        self.assertIn("you said 299,008 bytes; it is 1,196,032 bytes", output)
        self.assertIn("if elements are counted, not bytes", output)
        self.assertIn("k and v: 2 · 256 · 64 = 32,768", output)
        self.assertIn("Your number is too large by a factor of 16.", output)
        self.assertIn("Your number is too large by a factor of 2.", output)
        self.assertIn("0 of 4 predictions right. Farthest off: working memory, by a factor of 16.", output)

    def test_no_number_is_shown_before_all_are_asked(self):
        self.run_predict(RIGHT)
        asked = self.output().split("Kept.")[0]
        self.assertIn("V1 over standard, as recorded on a GPU?", asked)
        for line in asked.splitlines():
            if not line.startswith((">", "    Understood")):
                self.assertNotRegex(line, r"1,196|2,?048|KiB")

    def test_it_is_kept_before_anything_is_built(self):
        def build(*_):
            self.assertEqual(self.kept()[0]["given"]["bytes read"], 1196032)
            self.assertNotIn("measured", self.kept()[0])
            raise InternalError("no compiler")

        with mock.patch.object(predict, "build_program", build), self.assertRaises(InternalError):
            with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(RIGHT))):
                predict.predict(self.lesson, self.state, False, False)
        self.assertEqual(self.run_predict(b""), 0)  # asks nothing
        self.assertIn("was not run yet. It is kept and is used now.", self.output())
        self.assertIn("4 of 4 predictions right.", self.output())
        self.assertEqual(len(self.kept()), 1)

    def test_what_is_left_out_is_not_shown(self):
        self.assertEqual(self.run_predict(b"\nx\n2\n\n"), 0)
        self.assertNotIn("1,196,032", self.output())
        self.assertNotIn("V1 over standard", self.output().split("Kept.")[1])
        self.assertIn("1 of 1 predictions right.\n3 left out, and so not shown.", self.output())

    def test_an_early_end_keeps_and_runs_nothing(self):
        for typed, said in ((b"1\n2\n", "Ended before the last number"), (b"\n\n\n\n", "Nothing was predicted")):
            self.assertEqual(self.run_predict(typed), 1)
            self.assertIn(said, self.output())
            self.built.assert_not_called()
            self.assertEqual(self.kept(), [])

    def test_an_exercise(self):
        self.assertEqual(self.run_predict(RIGHT, "--exercise"), 0)
        self.assertEqual(self.built.call_args.args[3], True)
        more = [RUNS[0] | {"read_bytes": 2392064.0}, RUNS[1]]
        self.assertEqual(self.run_predict(RIGHT, "--exercise", runs=more), 1)
        self.assertIn("Right code has another number here: bytes read. Is your file right?", self.output())

    def test_an_exercise_that_does_not_run_or_compile(self):
        self.assertEqual(self.run_predict(RIGHT, "--exercise", ends="sys.exit('not started: Step 1')"), 1)
        self.assertIn("not started: Step 1\nIs your file right? ./course check 01", self.output())
        self.assertEqual(self.run_predict(b"", "--exercise", builds=False), 1)
        self.assertIn("Your prediction is kept. Once the file is right", self.output())
        self.assertEqual(self.run_predict(b"", "--exercise"), 0)
        failed = [RUNS[0] | {"error_occurred": True, "error_message": "no"}, RUNS[1]]
        self.assertEqual(self.run_predict(RIGHT, "--exercise", runs=failed), 1)

    def test_a_solution_that_does_not_run_is_a_failure_of_the_course(self):
        with self.assertRaisesRegex(InternalError, r"did not run slow/N:256 \(exit code 0\)"):
            self.run_predict(RIGHT, runs=RUNS[:1])

    def test_they_are_shown_again(self):
        self.assertEqual(self.run_predict(b"", "--show"), 1)
        self.assertIn("no prediction for lesson 01 yet", self.output())
        self.run_predict(b"299008\n\n\n\n")
        self.run_predict(RIGHT, "--exercise", ends="sys.exit(1)")
        self.assertEqual(self.run_predict(b"", "--show"), 0)
        self.built.assert_not_called()
        self.assertIn("you said 299,008 bytes; it is 1,196,032 bytes", self.output())
        self.assertIn("bytes read: you said 1,196,032\n", self.output())
        self.assertIn("Not run yet.", self.output())

    def test_a_prediction_for_another_shape_is_not_mixed_up(self):
        other = {"who": "solution", "when": time.time(), "shape": "another", "given": {"bytes read": 4.0}}
        self.state.update(self.lesson, predictions=[other, "edited", other | {"given": {"bytes read": "x"}}])
        self.assertEqual(self.run_predict(RIGHT), 0)
        self.assertNotIn("was not run yet", self.output())
        self.assertEqual(len(self.kept()), 2)

    def test_a_lesson_without_predictions(self):
        self.write(f"lessons/{NAME}/quiz.py", "QUESTIONS = ()\n")
        with self.assertRaisesRegex(UsageError, "nothing to predict yet"):
            self.run_predict(b"")


class Real(unittest.TestCase):
    """What the lessons ask."""

    def test_each_benchmark_and_each_counter_exists(self):
        for lesson in with_questions():
            bench = (lesson.folder / "bench.cpp").read_text(encoding="utf-8")
            bench += (lesson.root / "reference/simt/benchmark.h").read_text(encoding="utf-8")
            for one in quiz_file.read(lesson).prediction.asked:
                with self.subTest(lesson.number, one=one.name):
                    for name in one.benchmarks():
                        self.assertRegex(
                            bench, rf'BENCHMARK\({name.partition("/")[0]}\)|Name\("{name.partition("/")[0]}"'
                        )
                    if one.counter:
                        self.assertIn(f'"{one.counter}"', bench)

    def test_each_record_has_its_number(self):
        for lesson in with_questions():
            for one in quiz_file.read(lesson).prediction.asked:
                if one.record:
                    self.assertGreater(predict._number(one, {}, lesson), 0)

    def test_names_are_unique_and_a_shape_is_told(self):
        for lesson in with_questions():
            prediction = quiz_file.read(lesson).prediction
            names = [one.name for one in prediction.asked]
            self.assertEqual(len(set(names)), len(names))
            self.assertRegex(prediction.shape, "N = ")


if __name__ == "__main__":
    unittest.main()
