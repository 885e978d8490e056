"""Where output is plain: lines only, nothing that must be drawn again."""

import os
import unittest
from unittest import mock

from course import screen


class Terminal(unittest.TestCase):
    def setUp(self):
        self.addCleanup(screen.setup, True)

    def is_plain(self, terminal, term, plain=False):
        with (
            mock.patch.object(screen.sys.stdout, "isatty", return_value=terminal, create=True),
            mock.patch.dict(os.environ, TERM=term),
        ):
            screen.setup(plain)
            return screen.is_plain()

    def test_plain_is_what_was_asked_for_and_what_cannot_be_drawn_again(self):
        self.assertFalse(self.is_plain(True, "xterm"))
        self.assertTrue(self.is_plain(True, "xterm", plain=True))
        self.assertTrue(self.is_plain(False, "xterm"))
        self.assertTrue(self.is_plain(True, "dumb"))


if __name__ == "__main__":
    unittest.main()
