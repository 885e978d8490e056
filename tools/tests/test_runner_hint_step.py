"""For which step `./course check` offers a hint: that of the mistake, which may come after the first step that is wrong."""

import os
import re
import tomllib
import unittest
from dataclasses import replace
from unittest import mock

from course import check, diagnosis, gpu, lessons, steps, verdict
from course.build import Build
from course.catch_xml import Failure, Property
from course.symptoms import Symptoms
from course_folder import NAME, CourseFolder

TESTS = {"scores are right": 1, 'rows of "P", too, sum to 1': 2, "out is right": 3}
FIRST, SECOND, THIRD = TESTS
SAID = "p[row=1]: expected 0.25, got 0.5 (1 of 3 values differ)"
EXERCISE = """\
float weight();
// Step 2a: a helper
float helper();
// Step 1: scores
void scores();
  // Step 3: out
void out();
// Step 7: of another lesson
void other();
"""
RACE = """\
shared memory: s_tile[0][1] is touched by two threads with no barrier between
  in f, block (0, 0, 0), thread (0, 0, 0)
  thread (1, 0, 0) wrote it,
  thread (0, 0, 0) reads it,
  both after the barrier at attention_forward.cpp:{}"""


class HintStep(CourseFolder):
    def setUp(self):
        super().setUp()
        cases = (
            'TEST_CASE("{}", "[step{}]") {{}}\n'.format(name.replace('"', '\\"'), step) for name, step in TESTS.items()
        )
        self.write(f"lessons/{NAME}/test.cpp", "".join(cases))
        self.write(f"exercises/{NAME}/attention_forward.cpp", EXERCISE)
        self.lesson = replace(self.lesson, steps=("Scores", "Softmax", "Output"))

    def hint_step(self, *mistakes, said=SAID, stop=None, wrong=TESTS, thrown=False, preset="cpu", made_in=None):
        """Where `wrong` fail, all of them if nothing else is said; each mistake breaks all, and is caught by one."""
        catalog = (lessons.Mistake(name, name, "", Symptoms(tuple(TESTS), SAID), name, made_in) for name in mistakes)
        lesson = replace(self.lesson, mistakes=tuple(catalog))
        failure = Failure(said, "t.cpp", 1, (), thrown)
        properties = [
            Property(name, (f"step{step}",), "t.cpp", 1, [failure] if name in wrong else [], ended=True)
            for name, step in TESTS.items()
        ]
        report = mock.Mock(properties=properties, complete=True, counted=len(TESTS))
        with mock.patch.object(verdict, "_stop", lambda *_: stop):
            found = verdict.judge(report, mock.Mock(code=1, stderr="", timed_out=0), lesson.steps, None)
        return diagnosis.hint_step(lesson, found, Build(self.root, preset))

    def test_that_of_the_test_that_is_meant_to_catch_the_mistake(self):
        self.assertEqual(self.hint_step(THIRD), 3)
        self.assertEqual(self.hint_step(SECOND), 2)

    def test_that_in_which_it_is_made_where_the_catalog_tells(self):
        self.assertEqual(self.hint_step(THIRD, made_in=2), 2)
        self.assertEqual(self.hint_step(SECOND, THIRD, made_in=1), 1)

    def test_the_catalog_tells_it_where_the_code_is_of_another_step_than_the_test(self):
        comment = re.compile(r"// Step (\d+)")
        for lesson in lessons.load():
            catalog = tomllib.loads((lesson.folder / "lesson.toml").read_text(encoding="utf-8"))["mistake"]
            solution = (lesson.root / lesson.solution).read_text(encoding="utf-8")
            for one, entry in zip(lesson.mistakes, catalog, strict=True):
                if one.step is not None:
                    with self.subTest(f"{lesson.number} {one.name}"):
                        mistaken = solution.replace(entry["find"], entry["replace"])
                        same = len(os.path.commonprefix([solution, mistaken]))
                        above = comment.findall(solution[: solution.index("\n", same)])
                        self.assertEqual(one.step, int(above[-1]))
                        self.assertNotEqual(one.step, steps.of_test(lesson, one.caught_by))

    def test_of_several_mistakes_only_if_they_agree(self):
        self.assertEqual(self.hint_step(SECOND, SECOND), 2)
        self.assertIsNone(self.hint_step(SECOND, THIRD))

    def test_none_where_no_mistake_fits(self):
        self.assertIsNone(self.hint_step())
        self.assertIsNone(self.hint_step(THIRD, said=SAID.replace("0.5", "0.7")))
        self.assertIsNone(self.hint_step(THIRD, wrong=[THIRD]))

    def test_on_a_gpu_that_of_the_test_that_fails(self):
        self.assertEqual(self.hint_step(SECOND, preset=gpu.PRESET, wrong=[SECOND]), 2)
        self.assertIsNone(self.hint_step(THIRD, preset=gpu.PRESET, wrong=[SECOND]))

    def test_that_of_the_line_at_which_the_emulator_stopped(self):
        said = "__shfl_xor_sync of lanes\n  in f, block (0, 0, 0)\n  in fa::load at attention_forward.cpp:{}"
        for line, step in ((1, None), (2, 2), (3, 2), (5, 1), (6, 3), (7, 3), (9, None)):
            self.assertEqual(self.hint_step(said=said.format(line), thrown=True), step)

    def test_a_race_after_a_barrier_may_be_in_a_later_step(self):
        self.assertEqual(self.hint_step(said=RACE.format(7), thrown=True), 3)
        self.assertIsNone(self.hint_step(said=RACE.format(7), thrown=True, wrong=[THIRD]))
        self.assertIsNone(self.hint_step(said=RACE.format(5), thrown=True, wrong=[SECOND]))

    def test_that_of_the_line_which_a_sanitizer_names(self):
        stop = verdict.Stop(
            "was ended", None, f"heap-buffer-overflow {self.root}/exercises/x/attention_forward.cpp:7 in f"
        )
        self.assertEqual(self.hint_step(stop=stop, wrong=[]), 3)
        self.assertIsNone(self.hint_step(stop=verdict.Stop("crashed (SIGSEGV)", None), wrong=[]))

    def test_the_step_of_a_test_that_did_not_run(self):
        self.assertEqual([steps.of_test(self.lesson, name) for name in TESTS], [1, 2, 3])
        self.assertIsNone(steps.of_test(self.lesson, "scores"))

    def test_it_is_what_is_offered(self):
        check._say_next(self.lesson, self.state, verdict.WRONG, {"1": verdict.WRONG, "2": verdict.WRONG}, 2)
        check._say_next_on_gpu(self.lesson, self.state, verdict.WRONG, {"1": verdict.WRONG}, 2)
        self.assertEqual(self.output(), "For a hint: ./course hint 01 --step 2\n" * 2)


if __name__ == "__main__":
    unittest.main()
