"""What a wrong result is said to come from: a known mistake, some that may be meant, or none; and the smallest input."""

import unittest
from dataclasses import replace
from unittest import mock

from course import diagnosis, gpu, lessons, report, verdict
from course.build import Build
from course.catch_xml import Failure, Property
from course.symptoms import Symptoms
from course_folder import CourseFolder

TESTS = ("scores are right", "rows sum to 1", "out is right")
SAID, OTHER = (f"p[row=1]: expected 0.25, got {got} (1 of 3 values differ)" for got in (0.5, 0.75))
SILENT = "CHECK( a == b ) is false"
TELLS = "out: expected 1, got 2"
BYTES = "q, read: expected 8 bytes, got 9", "forward_traffic, read: expected 8 bytes, got 9"
RACE = "q_tile[0][1] is touched by two threads with no barrier between"


def mistake(title, *broken, said=SAID, caught_by=TESTS[1]):
    return lessons.Mistake(title, caught_by, f"Why {title}.", Symptoms(broken, said))


def shape(Nq, Nk):
    return f"shape := B=1 H=1 Nq={Nq} Nk={Nk} D=2"


CASE = "B=1 H=1 Nq=1 Nk=2 D=1, not causal, inputs: normal, seed 3"
NUMBERS = 'FA_RANDOM_CASE="0 0 0 0 1 1 1 2 1 1 1 3"'
DRAWN = Failure(
    f"Case 1 of 9 fails. Made smaller, it is\n{CASE}\nout: expected 1, got 2 (1 of 1)\nThis case alone: {NUMBERS}",
    "t.cpp",
    1,
    (),
)
SHOWN = f"      {CASE}\n      out: expected 1, got 2\n"
REPEAT = f"      {NUMBERS} ./course check 01 --step 1"


class Diagnosed(CourseFolder):
    def property(self, name, *failures):
        return Property(name, ("step1",), "test.cpp", 9, [*failures], ended=True)

    def shown(
        self,
        *catalog,
        broken=(TESTS[1],),
        said=SAID,
        thrown=False,
        preset="cpu",
        failures=(),
        random=(),
        case=None,
    ):
        """The report on TESTS, of which these are broken, in a lesson with these mistakes."""
        lesson = replace(self.lesson, steps=("Scores",), mistakes=catalog)
        first = Failure(said, "test.cpp", 12, (case or shape(3, 3),), thrown)
        properties = [self.property(name, *([first] if name in broken else ())) for name in TESTS]
        properties[-1].failures += failures
        properties = [replace(one, tags=("step1", "random")) if one.name in random else one for one in properties]
        return self.told(properties, lesson, preset)

    def told(self, properties, lesson, preset="cpu"):
        found = verdict.judge(
            mock.Mock(properties=properties, complete=True, counted=len(properties)),
            mock.Mock(code=1, stderr="", timed_out=0),
            lesson.steps,
            None,
        )
        self.said.clear()
        report.tested(lesson, found, Build(self.root, preset), None, 0.8)
        return self.output()

    def test_one_that_explains_all_is_named_and_explained(self):
        output = self.shown(mistake("No maximum", TESTS[1]), mistake("No sum", *TESTS[1:]))
        self.assertIn("    This is a known mistake: No maximum\n      Why No maximum.\n", output)
        self.assertNotIn("No sum", output)

    def test_a_step_that_seems_right_in_which_it_is_made(self):
        made = "      It is made in step 1, whose own tests do not see it.\n"
        self.write("lessons/01_naive_attention/test.cpp", "")
        for step, broken, told in ((1, TESTS[2:], True), (2, TESTS[2:], False), (1, TESTS[1:], False)):
            known = replace(mistake("No maximum", *broken), step=step)
            properties = [
                self.property(name, *([Failure(SAID, "t.cpp", 1, ())] if name in broken else ())) for name in TESTS
            ]
            properties[2] = replace(properties[2], tags=("step2",))
            output = self.told(properties, replace(self.lesson, mistakes=(known,)))
            self.assertEqual((made in output, "It is made in" in output), (told, told))

    def test_of_several_none_is_blamed(self):
        output = self.shown(mistake("No maximum", TESTS[1]), mistake("No sum", TESTS[1]))
        self.assertIn(
            "    Some mistakes that fail like this (yours may be another):\n      · No maximum\n      · No sum\n",
            output,
        )
        self.assertNotIn("Why", output)

    def test_another_value_only_comes_near(self):
        output = self.shown(mistake("No maximum", TESTS[1]), said=OTHER)
        self.assertIn(
            "    None of the known mistakes fails exactly so. This comes near:\n      · No maximum\n\n", output
        )
        self.assertNotIn("Why", output)

    def test_what_differs_at_another_place_comes_not_near(self):
        for said in ("p[row=2]: expected 0.25, got 0.75", "p[row=1]: expected 0.5, got 0.75"):
            self.assertNotIn("mistake", self.shown(mistake("No maximum", TESTS[1]), said=said))

    def test_all_that_a_test_says_is_compared(self):
        first, second, other = (f"q, read: expected 8 bytes, got {got}" for got in (4, 2, 3))
        known = lessons.Mistake("No maximum", TESTS[1], "Why.", Symptoms((TESTS[1],), first, {TESTS[1]: second}))
        for besides, blamed in ((second, True), (other, False)):
            failures = [Failure(said, "t.cpp", 1, ()) for said in (first, besides)]
            properties = [self.property(name, *(failures if name == TESTS[1] else ())) for name in TESTS]
            output = self.told(properties, replace(self.lesson, steps=("Scores",), mistakes=(known,)))
            self.assertEqual("This is a known mistake: No maximum" in output, blamed)

    def test_what_breaks_another_test_is_not_blamed(self):
        self.assertNotIn("mistake", self.shown(mistake("No maximum", *TESTS[1:], said=RACE)))

    def test_what_random_cases_tell_neither_speaks_for_a_mistake_nor_against(self):
        known = mistake("No maximum", TESTS[1])
        self.assertNotIn("This is a known mistake", self.shown(known, broken=TESTS[1:]))
        self.assertIn("This is a known mistake", self.shown(known, broken=TESTS[1:], random=TESTS[2:]))
        self.assertNotIn("mistake", self.shown(known, broken=TESTS[-1:], random=TESTS[-1:]))

    def test_a_mistake_that_is_not_recorded_is_not_blamed(self):
        self.assertNotIn("mistake", self.shown(lessons.Mistake("No maximum", TESTS[1], "Why.")))

    def test_an_exception_has_another_cause(self):
        said = "an exception was thrown: k[9]"
        self.assertNotIn("mistake", self.shown(mistake("No maximum", TESTS[1], said=said), said=said, thrown=True))

    def test_no_known_mistake_stops_the_program(self):
        with mock.patch.object(verdict, "_stop", lambda *_: verdict.Stop("crashed (SIGSEGV)", None)):
            self.assertIn("This comes near:\n      · No maximum", self.shown(mistake("No maximum", TESTS[1])))

    def test_what_the_emulator_stops_is_a_mistake_too(self):
        said = f"{RACE}\n  in f, block (0, 0, 0), thread (7, 0, 0)"
        self.assertIn("This is a known mistake", self.shown(mistake("a", TESTS[1], said=RACE), said=said, thrown=True))

    def test_a_gpu_tells_less_so_what_this_test_catches_may_be_meant(self):
        known = mistake("No maximum", TESTS[1], said=RACE), mistake("No sum", TESTS[1], caught_by=TESTS[2])
        output = self.shown(*known, preset=gpu.PRESET)
        self.assertIn("Some mistakes that fail like this (yours may be another):\n      · No maximum\n", output)
        self.assertNotIn("No sum", output)

    def test_the_smallest_input_where_it_is_not_the_first(self):
        small = Failure("out: expected 1, got 2 (1 of 3 values differ)", "t.cpp", 1, (shape(1, 2), "options := causal"))
        known = mistake("No maximum", *TESTS[1:])
        output = self.shown(known, broken=TESTS[1:], failures=[small])
        self.assertIn(
            "    The smallest input on which it shows:\n"
            "      shape = B=1 H=1 Nq=1 Nk=2 D=2, options = causal\n"
            "      out: expected 1, got 2\n\n",
            output,
        )
        output = self.shown(known, broken=TESTS[1:])
        self.assertIn("Why No maximum.\n      No test found a smaller input on which it shows.\n", output)

    def test_the_smallest_input_may_be_one_of_random_cases(self):
        known, random = mistake("No maximum", TESTS[1]), {"failures": [DRAWN], "random": TESTS[-1:]}
        output = self.shown(known, **random)
        self.assertIn("This is a known mistake: No maximum\n", output)
        self.assertIn(f"    The smallest input on which it shows:\n{SHOWN}      This case alone:\n{REPEAT}\n", output)
        self.assertIn(f"{REPEAT} --gpu\n", self.shown(known, **random, preset=gpu.PRESET))
        self.assertIn(f"{REPEAT} --sanitize\n", self.shown(known, **random, preset="sanitize"))

    def test_an_input_with_more_values_is_no_smaller_one(self):
        known = mistake("No maximum", *TESTS[1:])
        for values, array, smaller in ((4, "p", False), (3, "p", True), (4, "out", True)):
            large = Failure(f"{array}: expected 1, got 2 (1 of {values} values differ)", "t.cpp", 1, (shape(1, 2),))
            output = self.shown(known, broken=TESTS[1:], failures=[large], case="N := 3")
            self.assertEqual("The smallest input" in output, smaller)
            self.assertEqual("No test found a smaller input" in output, not smaller)
            output = self.shown(known, broken=TESTS[1:], failures=[large])
            self.assertIn("The smallest input", output)

    def test_where_no_mistake_is_blamed_it_is_shown_too(self):
        output = self.shown(failures=[DRAWN], random=TESTS[-1:])
        self.assertIn(f"the test: test.cpp:12\n\n    The smallest input on which a test fails:\n{SHOWN}", output)
        self.assertIn(REPEAT, output)
        self.assertNotIn("mistake", output)
        self.assertNotIn("smallest", self.shown())

    def test_a_random_case_that_is_shown_first_is_repeated_by_a_whole_command_line(self):
        output = self.shown(broken=(), failures=[DRAWN], random=TESTS[-1:])
        self.assertIn(f"      out: expected 1, got 2 (1 of 1)\n      This case alone:\n{REPEAT}\n", output)
        self.assertEqual(output.count("This case alone"), 1)
        self.assertNotIn("smallest", output)


class Smallest(unittest.TestCase):
    def smallest(self, *failures, shown=SILENT):
        """The place of the smallest. Each is what is told of its case, after a message of another kind if it has one."""
        made = [
            Failure(one[0] if one and one[0] in (SILENT, RACE, *BYTES) else TELLS, "t.cpp", number, one)
            for number, one in enumerate(failures)
        ]
        shown = Failure(shown, "t.cpp", 9, ())
        found = diagnosis.smallest((Property("a", (), "t.cpp", 1, made, ended=True),), shown)
        return found and found[1].line

    def test_by_the_product_of_its_extents(self):
        self.assertEqual(self.smallest((shape(3, 3),), (shape(1, 4),), ("x := 1", shape(2, 2))), 1)

    def test_an_extent_of_0_does_not_make_it_smallest(self):
        self.assertEqual(self.smallest((shape(0, 9),), (shape(2, 2),)), 1)
        self.assertEqual(self.smallest((shape(0, 1),), (shape(20, 20),), (shape(1, 0),)), 1)
        self.assertEqual(self.smallest((shape(0, 9),), (shape(0, 2),)), 1)

    def test_what_tells_numbers_comes_before_what_does_not(self):
        self.assertEqual(self.smallest((SILENT, shape(1, 1)), (shape(2, 2),)), 1)
        self.assertEqual(self.smallest((SILENT, shape(1, 1)), (shape(0, 2),)), 0)
        self.assertEqual(self.smallest((shape(2, 2),), (RACE, shape(1, 1))), 1)

    def test_it_says_no_less_than_what_is_shown(self):
        self.assertEqual(self.smallest((SILENT, shape(1, 1)), shown=SILENT), 0)
        for shown in (TELLS, RACE):
            self.assertIsNone(self.smallest((SILENT, shape(1, 1)), shown=shown))
            self.assertEqual(self.smallest((SILENT, shape(1, 1)), (shape(0, 9),), shown=shown), 1)

    def test_bytes_of_another_buffer_show_another_thing(self):
        ours, others = ((said, shape(number, 3)) for number, said in enumerate(BYTES, 1))
        self.assertEqual(self.smallest(ours, others, shown=BYTES[0]), 0)
        self.assertEqual(self.smallest(ours, others, shown=BYTES[1]), 1)
        self.assertEqual(self.smallest(others, ours, shown="N = 64, read: expected 8 bytes, got 9"), 1)
        for numbers in (TELLS, "(m, l) after (0): expected (2, 1), got (2, 3)"):
            self.assertIsNone(self.smallest(others, ours, shown=numbers))
        self.assertEqual(self.smallest((shape(9, 9),), others, shown=BYTES[0]), 0)

    def test_extents_may_be_told_one_by_one(self):
        self.assertEqual(self.smallest((shape(2, 2),), ("Nq := 1", "Nk := 2", "D := 3")), 1)
        self.assertEqual(self.smallest((shape(2, 2),), ("Nq := 1", "Nk := 2")), 0)

    def test_those_that_name_no_shape_are_not_compared(self):
        self.assertEqual(self.smallest((), (shape(9, 9),)), 1)
        self.assertIsNone(self.smallest((), ("low := 3",)))


if __name__ == "__main__":
    unittest.main()
