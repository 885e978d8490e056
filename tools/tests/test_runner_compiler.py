"""The compiler's first error, found in the output of gcc, clang and the linkers."""

import unittest
from pathlib import Path

from course import compile_report, compiler

ROOT = Path("/home/student/course")
EXERCISE = "exercises/01_naive_attention/attention_forward.cpp"
FILE = f"{ROOT}/{EXERCISE}"

GCC = f"""\
[1/4] Building CXX object CMakeFiles/exercise_01.dir/{EXERCISE}.o
FAILED: CMakeFiles/exercise_01.dir/{EXERCISE}.o
/usr/bin/c++ -I{ROOT}/reference -o CMakeFiles/exercise_01.dir/{EXERCISE}.o -c {FILE}
{FILE}:4:7: warning: unused variable ‘n’ [-Wunused-variable]
    4 |   int n;
      |       ^
{FILE}: In function ‘void lesson::scores(const float*, float*, int, float)’:
{FILE}:9:38: error: ‘scal’ was not declared in this scope; did you mean ‘scale’?
    9 |   for (int i = 0; i < n; ++i) s[i] = scal * x[i];
      |                                      ^~~~
      |                                      scale
{FILE}: In function ‘void lesson::softmax(const float*, float*, int)’:
{FILE}:15:40: error: ‘fmx’ is not a member of ‘std’; did you mean ‘fmax’?
   15 |   for (int i = 0; i < n; ++i) m = std::fmx(m, s[i]);
      |                                        ^~~
ninja: build stopped: subcommand failed.
"""

GCC_HEADER = f"""\
{FILE}:2:1: note: a note that belongs to nothing; did you mean it?
{FILE}:9:3: error: ‘vector’ is not a member of ‘std’
    9 |   std::vector<int> x;
      |        ^~~~~~
{FILE}:2:1: note: ‘std::vector’ is defined in header ‘<vector>’; did you forget to ‘#include <vector>’?
    1 | #include <cmath>
  +++ |+#include <vector>
{FILE}:9:20: warning: unused
{FILE}:9:20: note: ‘fa::x’ of the warning; did you mean it?
"""

GCC_ALTERNATIVES = f"""\
{FILE}:2:18: error: ‘zork’ was not declared in this scope
    2 | int f() {{ return zork(3); }}
      |                  ^~~~
{FILE}:2:18: note: suggested alternatives:
{FILE}:1:19: note:   ‘a::zork’
    1 | namespace a {{ int zork(int); }} namespace b {{ int zork(int); }}
      |                   ^~~~
{FILE}:1:50: note:   ‘b::zork’
{FILE}:1:50: note: candidate: ‘b::zork’
"""

CLANG = f"""\
{FILE}:9:38: error: use of undeclared identifier 'scal'; did you mean 'scale'?
  for (int i = 0; i < n; ++i) s[i] = scal * x[i];
                                     ^~~~
                                     scale
{FILE}:8:52: note: 'scale' declared here
void scores(const float* x, float* s, int n, float scale) {{
                                                   ^
1 error generated.
"""

GCC_TEMPLATE = f"""\
In file included from /usr/include/c++/12/bits/stl_algobase.h:71,
                 from {FILE}:2:
/usr/include/c++/12/bits/predefined_ops.h: In instantiation of ‘constexpr bool operator()(_Iterator1, _Iterator2)’:
/usr/include/c++/12/bits/stl_algo.h:4820:18:   required from ‘constexpr void std::sort(_RAIter, _RAIter)’
{FILE}:17:33:   required from here
/usr/include/c++/12/bits/predefined_ops.h:45:23: error: no match for ‘operator<’ (operand types are ‘S’ and ‘S’)
   45 |       {{ return *__it1 < *__it2; }}
      |                ~~~~~~~^~~~~~~~
"""

CLANG_TEMPLATE = f"""\
In file included from {FILE}:2:
In file included from /usr/bin/../include/c++/12/cmath:1935:
/usr/bin/../include/c++/12/bits/predefined_ops.h:45:23: error: invalid operands to binary expression ('S' and 'S')
      {{ return *__it1 < *__it2; }}
               ~~~~~~ ^ ~~~~~~
/usr/bin/../include/c++/12/bits/stl_algo.h:4820:12: note: in instantiation of function template specialization 'std::__sort<S *>' requested here
      std::__sort(__first, __last, __gnu_cxx::__ops::__iter_less_iter());
           ^
{FILE}:17:29: note: in instantiation of function template specialization 'std::sort<S *>' requested here
  std::vector<S> w(3); std::sort(w.begin(), w.end());
                            ^
"""

BROKEN_TEST = f"""\
[1/4] Building CXX object CMakeFiles/tests_01.dir/lessons/01_naive_attention/test.cpp.o
FAILED: CMakeFiles/tests_01.dir/lessons/01_naive_attention/test.cpp.o
{ROOT}/lessons/01_naive_attention/test.cpp:12:1: error: ‘garbage’ does not name a type
   12 | garbage;
      | ^~~~~~~
"""

GNU_LINK = """\
FAILED: bin/test_exercise_01
/usr/bin/ld: CMakeFiles/tests_01.dir/lessons/01_naive_attention/test.cpp.o: in function `CATCH2_INTERNAL_TEST_0()':
test.cpp:(.text+0x96): undefined reference to `lesson::scores(float const*, float*, int, float)'
collect2: error: ld returned 1 exit status
"""

LLD_LINK = f"""\
ld.lld: error: undefined symbol: helper(int)
>>> referenced by attention_forward.cpp
>>>               CMakeFiles/exercise_01.dir/{EXERCISE}.o:(lesson::scores())
clang: error: linker command failed with exit code 1 (use -v to see invocation)
"""

TWICE = f"""\
/usr/bin/ld: CMakeFiles/exercise_01.dir/{EXERCISE}.o: in function `fa::dot(float const*)':
attention_forward.cpp:(.text+0x0): multiple definition of `fa::dot(float const*)'; libfa.a(dot.cpp.o):dot.cpp:(.text+0x0): first defined here
collect2: error: ld returned 1 exit status
"""

OTHER_LINK = """\
/usr/bin/ld: libfa_reference.a(oracle.cpp.o): in function `fa::oracle()':
oracle.cpp:(.text+0x96): undefined reference to `fa::forgotten()'
collect2: error: ld returned 1 exit status
"""


def diagnose(output):
    return compiler.diagnose(output, ROOT, EXERCISE)


class FirstError(unittest.TestCase):
    def test_gcc(self):
        error = diagnose(GCC)
        self.assertEqual(error.first.place(), f"{EXERCISE}:9:38")
        self.assertEqual(error.first.message, "‘scal’ was not declared in this scope; did you mean ‘scale’?")
        self.assertEqual(
            error.first.excerpt,
            [
                "    9 |   for (int i = 0; i < n; ++i) s[i] = scal * x[i];",
                "      |                                      ^~~~",
            ],
        )
        self.assertEqual((error.reached_from, error.more), (None, 1))

    def test_gcc_in_color(self):
        colored = GCC.replace("error: ", "\x1b[01;31m\x1b[Kerror: \x1b[m\x1b[K").replace(
            f"{FILE}:9:38:", f"\x1b[01m\x1b[K{FILE}:9:38:\x1b[m\x1b[K"
        )
        self.assertEqual(diagnose(compiler.without_color(colored)).first.place(), f"{EXERCISE}:9:38")

    def test_clang(self):
        error = diagnose(CLANG)
        self.assertEqual(error.first.place(), f"{EXERCISE}:9:38")
        self.assertEqual(error.first.excerpt[1].index("^"), 37)
        self.assertEqual(error.more, 0)

    def test_auto_is_explained(self):
        message = "use of deleted function ‘fa::emulated::SharedElement<T>::operator T() const & [with T = float]’"
        self.assertIn("Write float, not auto", compile_report.advice(message)[0])
        self.assertEqual(compile_report.advice("use of deleted function ‘Other::operator=(Other)’"), [])

    def test_notes_that_help_belong_to_the_error(self):
        self.assertEqual(
            diagnose(GCC_HEADER).first.notes,
            ["‘std::vector’ is defined in header ‘<vector>’; did you forget to ‘#include <vector>’?"],
        )
        self.assertEqual(
            diagnose(GCC_ALTERNATIVES).first.notes, ["suggested alternatives:", "  ‘a::zork’", "  ‘b::zork’"]
        )
        self.assertEqual(diagnose(CLANG).first.notes, [])

    def test_an_error_in_a_header_names_the_line_of_the_student_that_leads_there(self):
        for output in (GCC_TEMPLATE, CLANG_TEMPLATE):
            with self.subTest(output[:30]):
                error = diagnose(output)
                self.assertEqual(error.reached_from, 17)
                self.assertEqual(error.first.line, 45)
                self.assertNotIn("..", str(error.first.file))

    def test_an_error_elsewhere_is_not_the_students(self):
        self.assertIsNone(diagnose(BROKEN_TEST))
        self.assertEqual(len(compiler.first_complaint(BROKEN_TEST)), 3)

    def test_an_error_of_the_student_is_found_behind_one_elsewhere(self):
        self.assertEqual(diagnose(BROKEN_TEST + GCC).first.line, 9)


class Warnings(unittest.TestCase):
    def warning(self, *lines):
        return compiler.warning("\n".join(lines), ROOT, EXERCISE)

    def test_the_first_on_the_students_file_in_a_line(self):
        found = self.warning(
            f"{ROOT}/lessons/x.h:3:1: warning: not his [-Wuninitialized]",
            f"{FILE}:9:38: warning: ‘dot’ is used uninitialized [-Wuninitialized]",
            "    9 |   dot += 1;",
            f"{FILE}:12:3: warning: second [-Wparentheses]",
        )
        self.assertEqual(found, f"{EXERCISE}:9: ‘dot’ is used uninitialized")

    def test_what_is_often_noise_comes_last(self):
        noise = f"{FILE}:2:1: warning: conversion from ‘long’ to ‘float’ may change value [-Wconversion]"
        other = f"{FILE}:9:1: warning: ‘dot’ may be used uninitialized [-Wmaybe-uninitialized]"
        self.assertEqual(self.warning(noise, other), f"{EXERCISE}:9: ‘dot’ may be used uninitialized")
        self.assertEqual(self.warning(noise), f"{EXERCISE}:2: conversion from ‘long’ to ‘float’ may change value")

    def test_a_missing_return_comes_first(self):
        other = f"{FILE}:2:1: warning: ‘dot’ may be used uninitialized [-Wmaybe-uninitialized]"
        missing = f"{FILE}:9:1: warning: no return statement in function returning non-void [-Wreturn-type]"
        self.assertEqual(
            self.warning(other, missing), f"{EXERCISE}:9: no return statement in function returning non-void"
        )

    def test_of_nvcc(self):
        found = self.warning(f'{FILE}(7): warning #549-D: variable "dot" is used before its value is set')
        self.assertEqual(found, f'{EXERCISE}:7: variable "dot" is used before its value is set')

    def test_none(self):
        self.assertEqual(self.warning("[1/2] Building CXX object x.o"), "")


class Linker(unittest.TestCase):
    def test_a_function_of_the_contract_is_missing(self):
        error = diagnose(GNU_LINK)
        self.assertEqual(error.symbol, "lesson::scores(float const*, float*, int, float)")
        self.assertFalse(error.twice)

    def test_a_function_that_the_student_calls_is_missing(self):
        self.assertEqual(diagnose(LLD_LINK).symbol, "helper(int)")

    def test_defined_twice(self):
        error = diagnose(TWICE)
        self.assertTrue(error.twice)
        self.assertEqual(error.symbol, "fa::dot(float const*)")

    def test_a_function_of_the_course_itself_is_missing(self):
        self.assertIsNone(diagnose(OTHER_LINK))


class CMake(unittest.TestCase):
    def test_the_first_error_without_what_surrounds_it(self):
        output = "-- Detecting\nCMake Error at CMakeLists.txt:3 (find_package):\n  Could not find Catch2.\n\nCall Stack (most recent call first):\n  x\n-- Configuring incomplete\n"
        self.assertEqual(
            compiler.cmake_error(output),
            ["CMake Error at CMakeLists.txt:3 (find_package):", "  Could not find Catch2."],
        )


if __name__ == "__main__":
    unittest.main()
