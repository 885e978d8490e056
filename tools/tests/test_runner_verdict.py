"""From the XML of a test program to a verdict, also when the program crashed, hung or lied."""

import io
import unittest
from pathlib import Path

from course import catch_xml, check, printed, verdict
from course.errors import InternalError
from course.lessons import Lesson
from course.process import Finished

LESSON = Lesson(
    Path("/course"),
    "01_naive_attention",
    "Naive attention",
    "",
    "attention_forward.cpp",
    ("cpu",),
    ("Scores", "Softmax"),
    (),
)
RIGHT_FILE = "implementation: exercise exercises/01_naive_attention/attention_forward.cpp\n"

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<Catch2TestRun name="t" catch2-version="3.7.1">\n'


def case(name, step, inside="", success=True):
    return (
        f'<TestCase name="{name}" tags="[step{step}]" filename="/course/lessons/test.cpp" line="9">{inside}'
        f'<OverallResult success="{"true" if success else "false"}" skips="0"/></TestCase>\n'
    )


def failure(message):
    return f'<Failure filename="/course/lessons/test.cpp" line="12">\n      {message}\n    </Failure>'


def thrown(message):
    return f'<Exception filename="/course/lessons/test.cpp" line="9">\n      {message}\n    </Exception>'


def tail(passed, failed):
    return f'<OverallResultsCases successes="{passed}" failures="{failed}" expectedFailures="0" skips="0"/>\n</Catch2TestRun>\n'


def judge(xml, code=0, stderr=RIGHT_FILE, timed_out=0, only=None):
    run = Finished(code, [], stderr, xml, timed_out)
    return verdict.judge(catch_xml.parse(xml), run, LESSON.steps, only)


WRONG_P = "p[i=3]: expected 0.25, got 0.5 (17 of 96 values differ; norm-wise error 0.31, allowed 1e-05)"
TODO_1 = case("scores are products", 1, thrown("not started: Step 1: scores"), False)
TODO_2 = case("rows sum to 1", 2, thrown("not started: Step 2: softmax"), False)


class Verdicts(unittest.TestCase):
    def test_right(self):
        found = judge(HEAD + case("scores are products", 1) + case("rows sum to 1", 2) + tail(2, 0))
        self.assertEqual(found.word, "right")
        self.assertEqual([step.state for step in found.steps], ["right", "right"])

    def test_skipped_is_not_right(self):
        skipped = case("rows sum to 1", 2).replace('skips="0"', 'skips="1"')
        found = judge(HEAD + skipped + tail(0, 0).replace('skips="0"', 'skips="1"'), 4, only=2)
        self.assertEqual((found.word, found.steps[0].state), ("skipped", "skipped"))
        found = judge(HEAD + case("scores are products", 1) + skipped + tail(1, 0).replace('skips="0"', 'skips="1"'))
        self.assertEqual(found.word, "right")
        self.assertEqual([step.state for step in found.steps], ["right", "skipped"])
        with self.assertRaises(InternalError):
            judge(HEAD + skipped + tail(0, 0).replace('skips="0"', 'skips="1"'), 0, only=2)

    def test_not_started(self):
        found = judge(HEAD + TODO_1 + TODO_2 + tail(0, 2), 42)
        self.assertEqual(found.word, "not started")
        self.assertEqual((found.passed, found.failed, found.not_started), (0, 0, 2))

    def test_one_step_right_and_one_not_started_is_not_right(self):
        found = judge(HEAD + case("scores are products", 1) + TODO_2 + tail(1, 1), 42)
        self.assertEqual(found.word, "not started")
        self.assertEqual([step.state for step in found.steps], ["right", "not started"])

    def test_wrong_tells_the_first_property_and_its_numbers(self):
        bad = case(
            "rows sum to 1", 2, "<Info>\nN=17, causal\n</Info>" + failure(WRONG_P) + failure("p[i=4]: ..."), False
        )
        found = judge(HEAD + TODO_1 + bad + case("other", 2, failure("x"), False) + tail(0, 3), 42)
        self.assertEqual(found.word, "wrong")
        self.assertEqual(found.broken.name, "rows sum to 1")
        self.assertEqual(found.failure.message, WRONG_P)
        self.assertEqual(found.failure.context, ("N=17, causal",))
        self.assertEqual((found.failure.file, found.failure.line), ("/course/lessons/test.cpp", 12))

    def test_a_property_that_fails_and_reaches_a_todo_is_wrong(self):
        bad = case("both", 1, thrown("not started: Step 2") + failure(WRONG_P), False)
        found = judge(HEAD + bad + TODO_2 + tail(0, 2), 42)
        self.assertEqual(found.word, "wrong")
        self.assertEqual(found.failure.message, WRONG_P)

    def test_not_started_inside_an_expression(self):
        check_throws = (
            '<Expression success="false" type="CHECK_THROWS_AS" filename="t" line="3"><Original>f()</Original><Expanded>f()</Expanded>'
            + thrown("not started: Step 1")
            + "</Expression>"
        )
        self.assertEqual(
            judge(HEAD + case("rejects", 1, check_throws, False) + TODO_2 + tail(0, 2), 42).word, "not started"
        )

    def test_numbers_are_decimal(self):
        expression = '<Expression success="false" type="CHECK"><Original>a == b</Original><Expanded>16384 (0x4000) == 8192 (0x2000)</Expanded></Expression>'
        found = judge(HEAD + case("less", 1, expression, False) + TODO_2 + tail(0, 2), 42)
        self.assertEqual(found.failure.message, "CHECK( a == b ): got 16384 == 8192")

    def test_an_expression_shows_what_it_got(self):
        expression = '<Expression success="false" type="CHECK" filename="t" line="3"><Original>\n a &lt; b\n</Original><Expanded>\n 2 &lt; 1\n</Expanded></Expression>'
        found = judge(HEAD + case("less", 1, expression, False) + TODO_2 + tail(0, 2), 42)
        self.assertEqual(found.failure.message, "CHECK( a < b ): got 2 < 1")

    def test_a_message_of_an_exception_shows_what_was_expected(self):
        def message(original, expanded, thrown=""):
            expression = (
                f'<Expression success="false" type="CHECK_THROWS_WITH" filename="t" line="3"><Original>{original}</Original>'
                f"<Expanded>{expanded}</Expanded>{thrown}</Expression>"
            )
            return judge(HEAD + case("rejects", 1, expression, False) + TODO_2 + tail(0, 2), 42).failure.message

        call = 'f(0), Contains("Nq = 0")'
        start = f"CHECK_THROWS_WITH( {call} ): "
        self.assertEqual(message(call, call), start + "no exception was thrown")
        self.assertEqual(
            message(call, '"q = "null"" contains: "Nq = 0"'),
            start + 'expected a message that contains: "Nq = 0", got "q = "null""',
        )
        self.assertEqual(message(call, "something else"), start + "got something else")

    def test_an_exception_between_two_assertions_has_no_expression(self):
        expression = (
            '<Expression success="false" type="CHECK" filename="t" line="3">'
            f"<Original>{catch_xml.NO_EXPRESSION}</Original><Expanded>{catch_xml.NO_EXPRESSION}</Expanded>"
            f"{thrown('k[9]: out of bounds')}</Expression>"
        )
        found = judge(HEAD + case("rejects", 1, expression, False) + TODO_2 + tail(0, 2), 42)
        self.assertEqual(found.failure.message, "an exception was thrown: k[9]: out of bounds")

    def test_each_test_has_what_was_printed_while_it_ran(self):
        report = catch_xml.parse(HEAD + case("one, [a]", 1) + case("two", 1) + '<TestCase name="three" tags="[step2]">')
        stdout = b"a\nb:test-result: PASS one, [a]\n:test-result: FAIL two\nc"
        catch_xml.share_out(report, printed.read(io.BytesIO(stdout)))
        self.assertEqual([one.printed.lines for one in report.properties], [["a", "b"], [], ["c"]])

    def test_of_much_that_is_printed_the_first_lines_are_kept(self):
        kept, _ = printed.read(io.BytesIO(b"x\n" * 1000 + b":test-result: PASS one\n"))
        self.assertEqual((len(kept.lines), kept.more), (20, 980))

    def test_a_flood_on_stderr_is_named(self):
        found = judge(HEAD + '<TestCase name="a" tags="[step1]" filename="t" line="9">', -25)
        self.assertEqual(found.stop.how, "was ended because it wrote more than 64 MB to stderr")

    def test_stderr_is_kept_but_for_the_line_of_the_program_itself(self):
        found = judge(HEAD + case("a", 1) + case("b", 2) + tail(2, 0), stderr=f"debug\n{RIGHT_FILE}more\n")
        self.assertEqual(found.complaints, "debug\nmore\n")

    def test_an_exception_is_told_from_a_comparison(self):
        for inside, expected in ((thrown("k[9]: out of bounds"), True), (failure(WRONG_P), False)):
            found = judge(HEAD + case("rejects", 1, inside, False) + TODO_2 + tail(0, 2), 42)
            self.assertEqual(found.failure.thrown, expected)

    def test_one_step_alone(self):
        found = judge(HEAD + case("scores are products", 1) + tail(1, 0), only=1)
        self.assertEqual([(step.number, step.state) for step in found.steps], [(1, "right")])


class Stops(unittest.TestCase):
    def test_crash_that_catch2_reports(self):
        fatal = '<FatalErrorCondition filename="t" line="9">\n SIGSEGV - Segmentation violation signal\n</FatalErrorCondition>'
        found = judge(HEAD + case("scores are products", 1) + case("rows sum to 1", 2, fatal, False) + tail(1, 1), -11)
        self.assertEqual(found.word, "wrong")
        self.assertEqual(found.stop.how, "crashed (SIGSEGV)")
        self.assertEqual(found.stop.property.name, "rows sum to 1")
        self.assertEqual([step.state for step in found.steps], ["right", "wrong"])

    def test_crash_that_cuts_the_report_off(self):
        xml = (
            HEAD
            + '<TestCase name="scores are products" tags="[step1]" filename="t" line="9">\n<Section name="N=17" filename="t" line="10">\n'
        )
        for cut in (xml, xml[:-20]):
            found = judge(cut, -9)
            self.assertEqual(found.word, "wrong")
            self.assertEqual(found.stop.how, "crashed (SIGKILL)")
        found = judge(xml, -9)
        self.assertEqual(found.stop.property.sections, ["N=17"])
        self.assertEqual([step.state for step in found.steps], ["wrong", "not reached"])

    def test_time_limit_names_the_property(self):
        xml = (
            HEAD
            + case("scores are products", 1)
            + '<TestCase name="rows sum to 1" tags="[step2]" filename="t" line="9">\n'
        )
        found = judge(xml, -9, timed_out=60)
        self.assertEqual(
            (found.word, found.stop.how, found.stop.property.name), ("wrong", "was ended after 60 s", "rows sum to 1")
        )

    def test_exit_with_code_0_before_the_end_is_not_right(self):
        xml = (
            HEAD
            + case("scores are products", 1)
            + '<TestCase name="rows sum to 1" tags="[step2]" filename="t" line="9">\n'
        )
        found = judge(xml, 0)
        self.assertEqual(
            (found.word, found.stop.how, found.stop.property.name),
            ("wrong", "ended by itself (exit code 0)", "rows sum to 1"),
        )

    def test_a_crash_after_every_test_passed_is_not_right(self):
        xml = HEAD + case("scores are products", 1) + case("rows sum to 1", 2) + tail(2, 0)
        self.assertEqual(judge(xml, -11).word, "wrong")

    def test_a_sanitizer_speaks(self):
        xml = HEAD + '<TestCase name="scores are products" tags="[step1]" filename="t" line="9">\n'
        summary = "SUMMARY: AddressSanitizer: heap-buffer-overflow /course/exercises/a.cpp:17 in lesson::scores()"
        found = judge(xml, 1, RIGHT_FILE + summary + "\n")
        self.assertEqual(found.word, "wrong")
        self.assertIn("a.cpp:17", found.stop.said)


class NoVerdict(unittest.TestCase):
    """What looks like a pass and is none must be an internal error."""

    def test_no_test_ran(self):
        with self.assertRaises(InternalError):
            judge(HEAD + tail(0, 0))

    def test_a_step_without_tests(self):
        with self.assertRaises(InternalError):
            judge(HEAD + case("scores are products", 1) + tail(1, 0))

    def test_the_exit_code_contradicts_the_report(self):
        for code, xml in (
            (1, case("a", 1) + case("b", 2) + tail(2, 0)),
            (0, case("a", 1) + case("b", 2, failure("x"), False) + tail(1, 1)),
        ):
            with self.assertRaises(InternalError):
                judge(HEAD + xml, code)

    def test_the_count_contradicts_the_report(self):
        with self.assertRaises(InternalError):
            judge(HEAD + case("a", 1) + case("b", 2) + tail(3, 0))

    def test_another_file_was_tested(self):
        for said in (
            "solution solutions/01_naive_attention/attention_forward.cpp",
            "exercise exercises/02_online_softmax/online_softmax.cpp",
            "mistake max_starts_at_zero",
        ):
            with self.subTest(said), self.assertRaises(InternalError) as caught:
                check.verify_implementation(Finished(0, [], f"implementation: {said}\n", ""), LESSON)
            self.assertIn(said, " ".join(caught.exception.details))

    def test_it_is_not_said_which_file_was_tested(self):
        with self.assertRaises(InternalError):
            check.verify_implementation(Finished(-11, [], "", ""), LESSON)

    def test_a_program_that_refuses_to_begin_is_heard(self):
        refusal = "FA_SIMT_ORDER = 'sideways': must be forward, backward or shuffled:SEED\n"
        for stderr in (refusal, RIGHT_FILE + refusal):
            with self.assertRaises(InternalError) as caught:
                check._verify_start(Finished(1, [], stderr, HEAD), catch_xml.parse(HEAD))
            self.assertEqual(caught.exception.details, (refusal.strip(),))
        check._verify_start(Finished(1, [], RIGHT_FILE, HEAD), catch_xml.parse(HEAD))
        check._verify_start(Finished(1, [], refusal, HEAD), catch_xml.parse(HEAD + case("a", 1)))

    def test_the_limit_came_first(self):
        with self.assertRaisesRegex(InternalError, "was ended after 1e-09 s, before it said"):
            check.verify_implementation(Finished(-9, [], "", "", 1e-9), LESSON)

    def test_the_students_file_was_tested(self):
        check.verify_implementation(Finished(0, [], RIGHT_FILE, ""), LESSON)


if __name__ == "__main__":
    unittest.main()
