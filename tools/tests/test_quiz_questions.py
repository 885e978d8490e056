"""Every question of every lesson, for many seeds: it can be drawn, answered, and is not always the same."""

import unittest

from course import lessons, quiz_file
from course.amount import NotUnderstood
from course.question import Choice, Number, Numbers, Span

SEEDS = range(60)


def with_questions():
    """`checks lessons` says which lesson has none."""
    return [lesson for lesson in lessons.load() if (lesson.folder / quiz_file.FILE).exists()]


def typed(answer):
    """The right answer, as a student would type it."""
    match answer:
        case Number():
            return repr(float(answer.value)) if answer.value.denominator > 1 else str(answer.value)
        case Numbers():
            return " ".join(repr(float(value)) for value in answer.values.values())
        case Choice():
            return "abcdefgh"[answer.right]
        case Span():
            return f"{answer.values[0]}-{answer.values[-1]}" if answer.values else "none"


class Questions(unittest.TestCase):
    def all_kinds(self):
        for lesson in with_questions():
            for kind in quiz_file.read(lesson).kinds:
                yield lesson, kind

    def test_the_right_answer_is_right_and_others_are_not(self):
        for lesson, kind in self.all_kinds():
            for seed in SEEDS:
                answer = kind.draw(lesson, seed).answer
                with self.subTest(lesson.number, kind=kind.name, seed=seed):
                    self.assertTrue(answer.is_right(answer.read(typed(answer))))
                    for wrong in ("123456789", "1 2 3", "b", "a", "98-99", "none"):
                        try:
                            given = answer.read(wrong)
                        except NotUnderstood:
                            continue
                        self.assertIsInstance(answer.remark(given), str)
                        if wrong == ("98-99" if isinstance(answer, Span) else "123456789"):
                            self.assertFalse(answer.is_right(given))

    def test_texts_are_whole_and_draw_new_numbers(self):
        for lesson, kind in self.all_kinds():
            with self.subTest(lesson.number, kind=kind.name):
                questions = [kind.draw(lesson, seed) for seed in SEEDS]
                self.assertGreater(len({question.text for question in questions}), 1)
                for question in questions:
                    self.assertRegex(question.text, r"[?.]$")
                    self.assertTrue(question.rule.endswith((".", ")")))
                    for text in (question.text, question.rule, question.answer.text, *question.why):
                        self.assertNotRegex(text, r"\n|\{|nan|None|Fraction")

    def test_both_sides_of_a_choice_come_up(self):
        for lesson, kind in self.all_kinds():
            answers = [kind.draw(lesson, seed).answer for seed in SEEDS]
            if isinstance(answers[0], Choice):
                with self.subTest(lesson.number, kind=kind.name):
                    self.assertGreater(len({answer.right for answer in answers}), 1)

    def test_a_seed_draws_the_same_each_time_and_in_each_kind_by_itself(self):
        lesson = lessons.find("6", lessons.load())
        (first, *_, last) = quiz_file.read(lesson).kinds
        before = last.draw(lesson, 7)
        first.draw(lesson, 7)
        self.assertEqual(last.draw(lesson, 7), before)
        text = first.draw(lesson, 5).text
        self.assertIn("N = 832, D = 64, tiles of 48 × 40", text)  # as it was on other machines

    def test_names_are_unique(self):
        for lesson in with_questions():
            names = [kind.name for kind in quiz_file.read(lesson).kinds]
            self.assertEqual(len(set(names)), len(names))


class Answers(unittest.TestCase):
    def test_a_byte_may_be_off_by_one_percent_and_a_count_by_nothing(self):
        about, exact = Number(1000, "bytes"), Number(1000, exact=True)
        self.assertTrue(about.is_right(1010) and about.is_right(990))
        self.assertFalse(about.is_right(1011) or exact.is_right(1001))
        self.assertIn("1% is close enough", about.how)
        self.assertIn("exactly", exact.how)

    def test_small_numbers_may_be_rounded_to_three_digits(self):
        number = Number(0.012345)
        self.assertTrue(number.is_right(number.read("0.012")))
        self.assertFalse(number.is_right(number.read("0.013")))

    def test_several_numbers(self):
        state = Numbers({"m": 2, "l": 1.367879, "u": 2.103638})
        for text in ("2 1.368 2.104", "2, 1.368, 2.104", "m = 2, l=1.368 u= 2.104", "2; 1.37; 2.1"):
            self.assertTrue(state.is_right(state.read(text)), text)
        self.assertEqual(state.remark(state.read("2 1.368 3")), "Not right: u.")
        self.assertEqual(state.remark(state.read("3 2 3")), "")
        self.assertFalse(state.is_right(state.read("2.01 1.368 2.104")))
        with self.assertRaisesRegex(NotUnderstood, "3 numbers are asked for: m, l, u"):
            state.read("2 1.368")

    def test_a_choice_by_letter_or_by_its_text(self):
        choice = Choice(("V1", "V2"), 1)
        for text in ("b", "B)", "v2"):
            self.assertTrue(choice.is_right(choice.read(text)), text)
        with self.assertRaises(NotUnderstood):
            choice.read("c")

    def test_a_span(self):
        keys = Span(range(0, 6))
        for text in ("0-5", "0 to 5", "0..5", "0 – 5"):
            self.assertTrue(keys.is_right(keys.read(text)), text)
        self.assertEqual(keys.remark(keys.read("0-6")), "It is off by one.")
        self.assertEqual(keys.remark(keys.read("3")), "")
        self.assertTrue(Span(range(0)).is_right(keys.read("none")))
        self.assertTrue(Span(range(4, 5)).is_right(keys.read("4")))
        for text in ("5-0", "x", "0,1"):
            with self.assertRaises(NotUnderstood):
                keys.read(text)


if __name__ == "__main__":
    unittest.main()
