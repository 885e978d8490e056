"""The variables that choose random cases: what is wrong with one is a usage error, and no verdict."""

import os
import unittest
from unittest import mock

from course import check, errors, random_settings, suite
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

    def test_what_is_not_is_named_with_its_value(self):
        for name in ("FA_RANDOM_CASES", "FA_RANDOM_SEED"):
            for text in ("", "0", "-1", "1.5", "many", "1 2", "\u0663"):
                with self.assertRaisesRegex(UsageError, f"^{name} = '{text}': must be a whole number, at least 1.$"):
                    verify(**{name: text})
        for text in ("", "one", "1 x", "1,2"):
            with self.assertRaisesRegex(UsageError, f"^FA_RANDOM_CASE = '{text}': must be whole numbers, as a failure"):
                verify(FA_RANDOM_CASE=text)

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


class Commands(CourseFolder):
    def test_nothing_is_built(self):
        build = mock.Mock()
        with mock.patch.dict(os.environ, {"FA_RANDOM_SEED": "x"}), mock.patch.object(check, "Build", build):
            with self.assertRaises(UsageError):
                check.check(self.lesson)
            with self.assertRaises(UsageError):
                suite.test(None, build)
        self.assertEqual(build.mock_calls, [])


if __name__ == "__main__":
    unittest.main()
