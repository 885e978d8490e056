"""The variables that choose inputs and random cases: what is wrong with one is a usage error, and no verdict."""

import os
import re
import unittest
from dataclasses import replace
from unittest import mock

from course import bench, check, errors, random_settings, suite
from course.catch_xml import Failure, Property
from course.errors import UsageError
from course_folder import CourseFolder


def verify(**settings):
    with mock.patch.dict(os.environ, settings):
        random_settings.verify()


class Verified(unittest.TestCase):
    def test_what_is_allowed(self):
        verify()
        verify(FA_RANDOM_CASES="1", FA_RANDOM_SEED="007", FA_RANDOM_CASE="1 0 0 0 1 1 1 17 1 1 16 5")
        verify(FA_RANDOM_CASES=str(2**63 - 1), FA_RANDOM_CASE=" 1 -5 ")
        for text in ("", "0", "000", str(2**64 - 1), "0" * 5000 + "7"):
            verify(FA_SEED=text)

    def test_what_is_not_is_named_with_its_value(self):
        for name in ("FA_RANDOM_CASES", "FA_RANDOM_SEED"):
            for text in ("", "0", "-1", "1.5", "many", "1 2", "\u0663", str(2**63), "9" * 5000):
                with self.assertRaisesRegex(
                    UsageError, f"^{name} = '{text}': must be a whole number from 1 to 2.63 - 1.$"
                ):
                    verify(**{name: text})
        for text in ("x", "-1", "1 ", "+1", str(2**64), "9" * 5000):
            with self.assertRaisesRegex(
                UsageError, rf"^FA_SEED = '{re.escape(text)}': must be a whole number from 0 to"
            ):
                verify(FA_SEED=text)
        for text in ("", " ", "one", "1 x", "1,2"):
            with self.assertRaisesRegex(UsageError, f"^FA_RANDOM_CASE = '{text}': must be whole numbers, as a failure"):
                verify(FA_RANDOM_CASE=text)
        with self.assertRaisesRegex(UsageError, r"^FA_RANDOM_CASE = '1\\n0': must be"):
            verify(FA_RANDOM_CASE="1\n0")

    def test_what_only_the_test_knows_to_be_wrong(self):
        said = "an exception was thrown: FA_RANDOM_CASE = 1 2: number 3, kind, must be from 0 to 6"
        random, other = (
            Property("random", ("step1", "random"), "t.cpp", 1, [Failure(message, "t.cpp", 1, (), True)])
            for message in (said, "an exception was thrown: k[9]")
        )
        random_settings.verify_taken([other])
        with self.assertRaisesRegex(
            UsageError, "^FA_RANDOM_CASE = 1 2: number 3, kind, must be from 0 to 6.$"
        ) as caught:
            random_settings.verify_taken([other, random])
        self.assertEqual(caught.exception.code, errors.USAGE)
        broken = replace(other, failures=[Failure("an exception was thrown:\nFA_SEED = x", "t.cpp", 1, (), True)])
        with self.assertRaisesRegex(UsageError, "^FA_SEED = x.$"):
            random_settings.verify_taken([broken])


class Commands(CourseFolder):
    def test_nothing_is_built(self):
        build = mock.Mock()
        with mock.patch.dict(os.environ, {"FA_RANDOM_SEED": "x"}), mock.patch.object(check, "Build", build):
            with self.assertRaises(UsageError):
                check.check(self.lesson)
            with self.assertRaises(UsageError):
                suite.test(None, build)
            with self.assertRaises(UsageError), mock.patch.object(bench, "build_program", build):
                bench.bench(self.lesson, True, [])
        self.assertEqual(build.mock_calls, [])


if __name__ == "__main__":
    unittest.main()
