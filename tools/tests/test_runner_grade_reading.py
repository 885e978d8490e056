"""./course grade: which files can come into a submission while it is compiled."""

import unittest

from course import grade_reading
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
