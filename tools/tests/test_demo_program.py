"""What the demonstrations share: bars and sizes, and the programs that they ask."""

import sys
import tempfile
import unittest
from pathlib import Path

from course import demo_gpu, demo_program, demo_screen
from course.errors import InternalError, UsageError


class Numbers(unittest.TestCase):
    def test_bars_are_as_long_as_their_part(self):
        self.assertEqual(demo_screen.bar(3, 3, 4), "████")
        self.assertEqual(demo_screen.bar(3, 8, 4), "█▌  ")
        self.assertEqual(demo_screen.bar(1, 10**9, 4), "▏   ")  # not nothing
        self.assertEqual(demo_screen.bar(0, 3, 4), "    ")
        self.assertEqual(demo_screen.bar(0, 0, 4), "    ")

    def test_sizes_have_three_digits(self):
        for count, text in ((0, "0 B"), (999, "999 B"), (4096, "4.1 kB"), (999_600, "1.0 MB"), (276e9, "276 GB")):
            self.assertEqual(demo_screen.size(count), text)

    def test_times_have_three_digits(self):
        for seconds, text in ((0.0051364, "5.14 ms"), (0.0512, "51.2 ms"), (1.2345, "1234 ms"), (0.0099996, "10.0 ms")):
            self.assertEqual(demo_gpu.milliseconds(seconds), text)


class Program(unittest.TestCase):
    def ask(self, script):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        program = Path(folder) / "demo_kernels"
        program.write_text(f"#!{sys.executable}\nimport sys, json\n{script}\n")
        program.chmod(0o755)
        return demo_program.ask(program, {"--N": 512, "--D": 64})

    def test_flags_go_in_and_json_comes_out(self):
        self.assertEqual(self.ask("print(json.dumps(sys.argv[1:]))"), ["--N", "512", "--D", "64"])

    def test_each_exit_code_is_an_error_of_its_own(self):
        say = "print('demo_kernels: it is so', file=sys.stderr); "
        for code, error in ((2, UsageError), (4, demo_program.NoDevice), (1, InternalError)):
            with self.subTest(code), self.assertRaises(error) as caught:
                self.ask(f"{say}sys.exit({code})")
            self.assertIn("it is so", (caught.exception.message, *caught.exception.details))


if __name__ == "__main__":
    unittest.main()
