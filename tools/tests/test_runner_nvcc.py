"""The compiler's first error, found in the output of nvcc 13."""

import unittest
from pathlib import Path

from course import compiler

ROOT = Path("/home/student/course")
EXERCISE = "exercises/05_standard_cuda/attention_forward.cu"
FILE = f"{ROOT}/{EXERCISE}"
FAILED = f"""\
[1/4] Building CUDA object CMakeFiles/exercise_05.dir/{EXERCISE}.o
FAILED: CMakeFiles/exercise_05.dir/{EXERCISE}.o
/usr/local/cuda/bin/nvcc -x cu -c {FILE} -o CMakeFiles/exercise_05.dir/{EXERCISE}.o
"""

PLAIN = f"""\
{FAILED}{FILE}(4): warning #177-D: variable "y" was declared but never referenced
    float y[3];
          ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

{FILE}(7): error: identifier "scal" is undefined
    x[threadIdx.x] = scal * n;
                     ^

{FILE}(8): error #20014-D: calling a __host__ function("host_only(int)") from a __global__ function("k") is not allowed

2 errors detected in the compilation of "{FILE}".
ninja: build stopped: subcommand failed.
"""

HEADER = f"""\
{FAILED}{ROOT}/reference/fa/launch.h(4): error: too few arguments in function call
  template <auto kernel, class... A> void go(A... a) {{ kernel<<<1, 1>>>(a...); }}
                                                                            ^
          detected during instantiation of "void fa::go<kernel,A...>(A...) [with kernel=lesson::k, A=<float *>]" at line 9 of {FILE}

{FILE}(3): error: expression must have class type but it has type "int"
  template <class T> T twice(T x) {{ return x.nothing(); }}
                                           ^
          detected during instantiation of "T lesson::twice(T) [with T=int]" at line 10
"""

SYSTEM_HEADER = f"""\
{FAILED}/usr/include/c++/12/bits/predefined_ops.h(45): error: no operator "<" matches these operands
            operand types are: lesson::S < lesson::S
        {{ return *__it1 < *__it2; }}
                        ^
/usr/include/c++/12/bits/predefined_ops.h(45): note #3328-D: built-in operator<(<nullptr>, <nullptr>) does not match
        {{ return *__it1 < *__it2; }}
                        ^
"""

COURSE_HEADER = f"{FAILED}{ROOT}/reference/fa/launch.h(4): error: expected a declaration\n  ;;;\n  ^\n"

PTXAS = FAILED + "ptxas error   : Entry function '_Z1kPf' uses too much shared data (0x13880 bytes, 0xc000 max)\n"
PTX = FAILED + "ptxas /tmp/tmpxft_6_i.ptx, line 28; error   : Not a name of any known instruction: 'nonsense'\n"


def diagnose(output):
    return compiler.diagnose(output, ROOT, EXERCISE)


class Nvcc(unittest.TestCase):
    def test_an_error_in_the_students_file(self):
        error = diagnose(PLAIN)
        self.assertEqual(error.first.place(), f"{EXERCISE}:7")
        self.assertEqual(error.first.message, 'identifier "scal" is undefined')
        self.assertEqual(error.first.excerpt, ["    x[threadIdx.x] = scal * n;", "                     ^"])
        self.assertEqual((error.reached_from, error.more), (None, 1))

    def test_an_error_with_a_number(self):
        error = diagnose(PLAIN.replace(f"{FILE}(7): error", f"{FILE}(7): remark"))
        self.assertEqual((error.first.line, error.more), (8, 0))
        self.assertIn("calling a __host__ function", error.first.message)

    def test_an_error_in_a_header_names_the_line_of_the_student_that_leads_there(self):
        error = diagnose(HEADER)
        self.assertEqual(error.reached_from, 9)
        self.assertEqual(error.first.place(), "reference/fa/launch.h:4")
        self.assertEqual(error.more, 1)

    def test_an_error_in_a_header_of_the_system_is_the_students(self):
        error = diagnose(SYSTEM_HEADER)
        self.assertEqual(error.reached_from, 0)
        self.assertEqual(
            error.first.message, 'no operator "<" matches these operands; operand types are: lesson::S < lesson::S'
        )
        self.assertEqual(len(error.first.excerpt), 2)

    def test_an_error_in_a_header_of_the_course_is_not(self):
        self.assertIsNone(diagnose(COURSE_HEADER))
        self.assertIn("launch.h:4: error: expected a declaration", compiler.first_complaint(COURSE_HEADER)[0])

    def test_what_ptxas_refuses_has_no_line(self):
        for output, message in ((PTXAS, "uses too much shared data"), (PTX, "Not a name of any known instruction")):
            with self.subTest(message):
                error = diagnose(output)
                self.assertEqual(error.first.place(), EXERCISE)
                self.assertIn(message, error.first.message)


if __name__ == "__main__":
    unittest.main()
