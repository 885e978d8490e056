"""From the message of a failure to its kind, and to the cataloged mistakes that fail like it."""

import json
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

from checks import faults, mistakes
from checks.common import Lesson, Result
from course import fault, lessons
from course.fault import Fault
from course_folder import NAME, TOML, CourseFolder

MESSAGES = {
    "HBM: s[70] is touched by two blocks, which run in no order\n  in f, block (2, 0, 0), thread (6, 0, 0)": "blocks s",
    "shared memory: m_tile[0] is touched by two threads with no barrier between": "race m_tile",
    "shared memory: read of q_tile[0][1], which nothing wrote\n  in f, block (0, 0, 0), thread (0, 0, 0)": "unwritten q_tile",
    "shared memory: left_tile[15][8] is read before an asynchronous copy into it has arrived": "copy left_tile",
    "mma_sync with a fragment that nothing has set": "unset",
    "a load of 16 bytes at k_tile[1][3], which begins at byte 150: must be a multiple of 16": "alignment",
    "load_matrix_sync with ld = 68: must be a multiple of 8, which are 16 bytes": "alignment",
    "a barrier that not all threads reach\n  in f, block (0, 2, 0), thread (0, 0, 0)": "barrier",
    "the threads of a block wait at different barriers": "barrier",
    "__shfl_xor_sync that not all lanes of its mask reach": "warp",
    "an exception was thrown:\nHBM: read of k[1260], which has 1260 elements\n  in f, block (1, 0, 5)": "bounds k",
    "HBM: write to out[1], which has 1 elements": "bounds out",
    "shared memory: index 33 in dimension 1 of 'q_tile', which has 33": "bounds q_tile",
    "an exception was thrown: HBM buffer 'q' of 6 elements: read of element 6": "bounds q",
    "SRAM: 'k_tile' of 64 elements was written past its end": "bounds k_tile",
    "f, launched at a.cu:84: grid.y = 70000: must be at most 65535": "launch",
    "f: sectors written: expected 256, got 2048, for 8192 bytes. Do neighboring threads touch neighbors?": "sectors",
    "q, read: expected 95040 bytes, got 2312640": "bytes q",
    "N = 128, D = 64, read: expected 655360 bytes, got 589824": "bytes",
    "s[i=0, j=0]: expected -0.4, got poison (60 of 120 values differ, 60 hold poison: never written)": "poison s",
    "p[row=1, j=0]: expected 0, got nan (3 of 6 values differ)": "nan p",
    "s[i=0, j=1]: expected -inf, got 0 (3 of 9 values differ)": "infinite s",
    "out[i=0, d=0]: expected 1, got 2 (1 of 2 values differ; norm-wise error 1, allowed 0)": "numbers out",
    "(m, l) after (0), then (2, 1): expected (2, 1.503215), got (2, 2.367879)": "numbers",
    "CHECK( a == b ): got 1 == 2": "other",
}


def known(*told):
    return [lessons.Mistake(one, "a test", "", fault.read(one)) for one in told]


class Kinds(unittest.TestCase):
    def test_each_message_has_its_kind(self):
        for message, told in MESSAGES.items():
            with self.subTest(message):
                self.assertEqual(str(fault.classify(message)), told)
                self.assertEqual(fault.read(told), fault.classify(message))

    def test_an_exception_that_is_none_of_the_emulators(self):
        self.assertEqual(fault.classify("vector::at", thrown=True), Fault("exception"))


class Closest(unittest.TestCase):
    def closest(self, told, *catalog):
        found, exact = fault.closest(known(*catalog), fault.read(told))
        self.assertEqual(exact, told in catalog)
        return [one.title for one in found]

    def test_the_same_kind_and_array_come_first(self):
        self.assertEqual(self.closest("race s", "numbers out", "race s", "race q"), ["race s"])

    def test_then_the_same_kind(self):
        self.assertEqual(self.closest("race p", "numbers out", "race s", "race q", "unwritten p"), ["race s", "race q"])

    def test_then_what_has_the_same_causes(self):
        self.assertEqual(self.closest("race s", "barrier", "unwritten s"), ["barrier", "unwritten s"])

    def test_of_those_one_alone_would_read_like_a_diagnosis(self):
        self.assertEqual(self.closest("bounds s", "numbers s", "blocks s"), [])

    def test_a_wrong_sum_says_nothing_of_an_access_out_of_bounds(self):
        self.assertEqual(self.closest("bounds k", "numbers out", "barrier"), [])

    def test_where_nothing_is_recorded_nothing_is_ruled_out(self):
        catalog = [*known("numbers out"), replace(known("x")[0], fault=None)]
        self.assertEqual(fault.closest(catalog, Fault("bounds", "k")), (catalog, True))


OFF_BY = "lse[i=0]: expected -4, got {} (1 of 1 values differ)"


class Matching(unittest.TestCase):
    """Tests a, b, c and d; each mistake with those that it breaks and the value that the first of them gets."""

    def matching(self, right, wrong, got="2", **catalog):
        mistakes = [
            lessons.Mistake(name, "", "", None, fault.Symptoms(frozenset(broken), OFF_BY.format(value)))
            for name, (broken, value) in catalog.items()
        ]
        found, exact = fault.matching(mistakes, set(right), set(wrong), wrong[0], OFF_BY.format(got))
        return [one.title for one in found], exact

    def test_one_that_breaks_what_is_wrong_here(self):
        self.assertEqual(self.matching("a", "bc", x=("b", "2"), y=("bc", "2"), z=("abc", "2")), (["y"], True))

    def test_what_a_mistake_breaks_must_not_be_right(self):
        self.assertEqual(self.matching("a", "b", x=("ab", "2")), ([], False))

    def test_of_a_test_that_did_not_run_nothing_is_known(self):
        self.assertEqual(self.matching("", "a", x=("ab", "2")), (["x"], True))

    def test_the_first_that_is_wrong_must_be_among_them(self):
        self.assertEqual(self.matching("", "ab", x=("b", "2")), ([], False))

    def test_another_value_only_comes_near(self):
        self.assertEqual(self.matching("", "a", "3", x=("a", "2")), (["x"], False))

    def test_another_kind_does_not(self):
        self.assertEqual(self.matching("", "a", "nan", x=("a", "2")), ([], False))

    def test_what_leaves_other_tests_unexplained_comes_near_in_the_same_words_only(self):
        self.assertEqual(self.matching("", "abcd", x=("ab", "2"), y=("abc", "2")), (["y"], False))
        self.assertEqual(self.matching("", "abcd", x=("ab", "2"), y=("abc", "3")), (["x"], False))

    def test_where_many_are_equally_near_none_is_named(self):
        many = {f"mistake_{number}": ("ab", str(number)) for number in range(fault.MOST_NEAR + 1)}
        self.assertEqual(self.matching("", "ab", "7.5", **many), ([], False))
        self.assertEqual(self.matching("", "ab", "0", **many), (["mistake_0"], True))

    def test_messages_that_say_the_same(self):
        race, other = "k_tile[0][1] is touched by two threads", "k_tile[3][2] is touched by two threads"
        for said, told, alike in (
            (OFF_BY.format("2.00001"), OFF_BY.format("2"), True),
            (OFF_BY.format("2.1"), OFF_BY.format("2"), False),
            (OFF_BY.format("nan"), OFF_BY.format("nan"), True),
            ("q, read: expected 4 bytes, got 8", "q, read: expected 4 bytes, got 16", False),
            ("CHECK( x == y ): got { 1, 2 } == { 3, 4 }", "CHECK( x == y ): got { 1, 5 } == { 3, 4 }", False),
            (race, other, True),
            (race, race.replace("k_tile", "q_tile"), False),
        ):
            with self.subTest(said):
                self.assertEqual(fault.same(said, told), alike)

    def test_a_record_is_unpacked(self):
        recorded = {"tests": ["a", "b", "c"], "mistakes": {"x": "x.x lse: expected 1, got 2"}}
        self.assertEqual(fault.unpack(recorded), {"x": fault.Symptoms(frozenset("ac"), "lse: expected 1, got 2")})


class Recorded(CourseFolder):
    def setUp(self):
        super().setUp()
        self.catalog = [{"name": "from_zero", "caught_by": "rows sum to 1"}]
        self.of_checks = Lesson(NAME, {"mistake": self.catalog})
        self.enterContext(mock.patch("checks.common.ROOT", self.root))
        self.file = self.root / "lessons" / NAME / lessons.FAULTS

    def record_all_tests(self):
        (self.file.parent / lessons.SYMPTOMS).write_text("{}")

    def report(self, message):
        return (
            '<Catch2TestRun><TestCase name="rows sum to 1" tags="[step2]" filename="t.cpp" line="1">'
            f'<Failure filename="t.cpp" line="1">{message}</Failure><OverallResult success="false"/></TestCase>'
        )

    def test_it_is_written_and_the_runner_reads_it(self):
        self.assertTrue(faults.write(self.of_checks, {"from_zero": self.report("p[row=1]: expected 0, got nan")}))
        self.assertEqual(json.loads(self.file.read_text()), {"from_zero": "nan p"})
        self.write(f"lessons/{NAME}/lesson.toml", TOML.replace("[[mistake]]", '[[mistake]]\nname = "from_zero"'))
        self.assertEqual(lessons.load(self.root)[0].mistakes[0].fault, Fault("nan", "p"))

    def test_what_has_the_same_causes_changes_nothing(self):
        self.file.write_text('{"from_zero": "blocks s"}')
        self.assertFalse(faults.write(self.of_checks, {"from_zero": self.report("read of s[9], which has 9 elements")}))
        self.assertTrue(faults.write(self.of_checks, {"from_zero": self.report("p: expected 1, got 2")}))

    def test_where_all_tests_are_looked_at_the_runner_knows_the_symptoms(self):
        self.record_all_tests()
        reports = {"from_zero": self.report("p[row=1]: expected 0, got nan")}
        self.assertTrue(faults.write(self.of_checks, reports))
        self.assertFalse(faults.write(self.of_checks, reports))
        self.write(f"lessons/{NAME}/lesson.toml", TOML.replace("[[mistake]]", '[[mistake]]\nname = "from_zero"'))
        symptoms = fault.Symptoms(frozenset({"rows sum to 1"}), "p[row=1]: expected 0, got nan")
        self.assertEqual(lessons.load(self.root)[0].mistakes[0].symptoms, symptoms)

    def test_the_check_finds_other_symptoms(self):
        self.record_all_tests()
        report = Path(self.root, "report.xml")
        report.write_text(self.report("p: expected 1, got 2"))
        faults.write(self.of_checks, {"from_zero": report.read_text()})
        with (
            mock.patch.object(mistakes, "report_of", lambda *_: report),
            mock.patch.object(mistakes, "caught", lambda *_: Result("x", True)),
        ):
            self.assertTrue(mistakes.judge(self.of_checks, self.catalog[0]).ok)
            also = report.read_text().split(">", 1)[1].replace("rows sum to 1", "another")
            report.write_text(report.read_text() + also + "</Catch2TestRun>")
            self.assertIn("another", mistakes.judge(self.of_checks, self.catalog[0]).detail)
            report.write_text(self.report("p: expected 1, got 3"))
            self.assertIn("got 3", mistakes.judge(self.of_checks, self.catalog[0]).detail)

    def test_the_check_finds_what_is_not_recorded_or_differs(self):
        report = Path(self.root, "report.xml")
        report.write_text(self.report("p: expected 1, got 2"))
        with (
            mock.patch.object(mistakes, "report_of", lambda *_: report),
            mock.patch.object(mistakes, "caught", lambda *_: Result("x", True)),
        ):
            for told, good in (({}, False), ({"from_zero": "barrier"}, False), ({"from_zero": "numbers p"}, True)):
                self.file.write_text(json.dumps(told))
                self.assertEqual(mistakes.judge(self.of_checks, self.catalog[0]).ok, good)


if __name__ == "__main__":
    unittest.main()
