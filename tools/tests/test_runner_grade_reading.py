"""./course grade: which files can come into a submission while it is compiled."""

import unittest
from pathlib import Path
from unittest import mock

from course import grade_reading
from course.grade_build import Workshop
from course.grade_reading import Refused
from course_folder import CourseFolder

SOURCE = b'int a;\nint b;\nasm("...");\n'


class Assembly(CourseFolder):
    def check(self, text, source=SOURCE):
        self.write("submission.s", text)
        grade_reading.check_assembly(self.root / "submission.s", source)

    def test_what_reads_a_file_is_refused_with_its_line(self):
        for text, word in (
            ('.text\n\t.incbin "/etc/passwd"\n', ".incbin"),
            ('.text; .INCLUDE "/etc/passwd"', ".INCLUDE"),
            ('label:.incbin "x"\n', ".incbin"),
            ('.macro make a b\n.\\a\\b "x"\n.endm\n', ".macro"),
            (".irpc c, inc\n", ".irpc"),
            ('\t.string "end"; .incbin "x"\n', ".incbin"),
        ):
            with self.subTest(text), self.assertRaisesRegex(Refused, rf"the assembler's \{word}.*\(line 3\)"):
                self.check(text)

    def test_the_line_of_the_word_is_the_best_one(self):
        with self.assertRaisesRegex(Refused, r"\(line 1\)"):
            self.check('.incbin "x"\n', b'asm(".incbin");\nasm("");\n')
        with self.assertRaisesRegex(Refused, r"can be read$"):
            self.check('.incbin "x"\n', b"int a;\n")

    def test_what_only_looks_like_it_is_not(self):
        for text in (
            "",
            '\t.string "use .incbin \\"x\\" here"\n',
            "\t.section\t.text._ZN7includeEv\n\tcall\tmy.include\n",
            "\t.includes\n",
        ):
            with self.subTest(text):
                self.check(text)


class Places(CourseFolder):
    def setUp(self):
        super().setUp()
        self.workshop = Workshop.__new__(Workshop)
        self.workshop.root = self.root / "course"
        self.workshop.allowed = (self.root / "course/reference",)
        self.workshop.system = [self.root / "include"]
        for file in (
            "made/submission.cpp",
            "course/reference/a.h",
            "course/solutions/b.h",
            "lib/errno.h",
            "secret",
            "include/c.h",
        ):
            self.write(file, "")
        (self.root / "include/errno.h").symlink_to("../lib/errno.h")
        (self.root / "include/folder").symlink_to("../lib")

    def check(self, name):
        self.workshop._check_read([name], self.root / "made/submission.cpp")

    def test_headers_of_the_course_and_of_the_system_may_be_read(self):
        for name in ("submission.cpp", "../include/c.h", "../course/reference/a.h", "../include/../include/c.h"):
            with self.subTest(name):
                self.check(name)

    def test_so_may_a_header_to_which_a_link_of_the_system_leads(self):
        self.check(f"{self.root}/include/errno.h")

    def test_no_other_file_may_also_not_by_a_way_through_the_system(self):
        for name in (
            "../lib/errno.h",
            "../course/solutions/b.h",
            "../include/../secret",
            "../include/folder/../secret",
        ):
            with self.subTest(name), self.assertRaises(Refused):
                self.check(name)

    def test_a_link_of_the_submission_is_not_one_of_the_system(self):
        (self.root / "made/c.h").symlink_to("../secret")
        with self.assertRaises(Refused):
            self.check("c.h")


class Sections(unittest.TestCase):
    def check(self, name, size):
        with mock.patch(
            "course.grade_build._output", return_value=f" 26 {name}   {size}  0000000000000000  CONTENTS\n"
        ):
            Workshop._check(mock.Mock(), Path("joined.o"), [])

    def test_a_section_that_is_not_ordinary_is_refused_unless_it_is_empty(self):
        self.check(".text.f", "00000010")
        self.check(".linker-options", "00000000")  # of Clang
        with self.assertRaisesRegex(Refused, "section .linker-options"):
            self.check(".linker-options", "00000010")


class Headers(unittest.TestCase):
    def test_headers_stand_in_the_output_of_a_compiler_that_gave_up(self):
        said = ". /a/b.h\n.. /c d/e.h\n/a/b.h:1:1: error: no\n... int\n"
        self.assertEqual(grade_reading.headers(said), ["/a/b.h", "/c d/e.h", "int"])
        self.assertNotIn("/c d/e.h", grade_reading.without_headers(said))
        self.assertIn("/a/b.h:1:1: error: no", grade_reading.without_headers(said))

    def test_embed_is_refused_where_an_error_could_show_what_it_read(self):
        for source in (b'#embed "x"\n', b'# /*\n*/ embed "x"\n', b'#em\\\nbed "x"\n'):
            with self.subTest(source), self.assertRaisesRegex(Refused, "embed"):
                grade_reading.check_quotable(source)
        grade_reading.check_quotable(b"int embedded;\n")


if __name__ == "__main__":
    unittest.main()
