"""Submissions for lesson 02 that want points which they have not earned, or do harm. Each says what it must get."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FILE = "online_softmax.cpp"
FIRST_STEP = "  // Step 1: the maximum"
LAST_STEP = "float log_sum_exp(AttentionState state) {\n"


@dataclass(frozen=True)
class Hostile:
    name: str
    word: str
    points: float
    make: Callable[[str, str], str]  # from the texts of stub and solution


def _start(code: str, headers: str = "") -> Callable[[str, str], str]:
    """The stub, and `code` before main()."""
    return lambda stub, solution: (
        f"{_include(headers)}{stub}\nnamespace {{ const int begun = [] {{ {code} return 0; }}(); }}\n"
    )


def _beside(code: str, headers: str = "") -> Callable[[str, str], str]:
    """The stub, and `code` at the end of the file."""
    return lambda stub, solution: f"{_include(headers)}{stub}\n{code}\n"


def _in_last_step(code: str, headers: str = "", above: str = "") -> Callable[[str, str], str]:
    """The solution, but step 6 begins with `code`."""
    return lambda stub, solution: (
        _include(headers)
        + solution.replace("namespace lesson {", f"{above}\nnamespace lesson {{", 1).replace(
            LAST_STEP, LAST_STEP + code, 1
        )
    )


def _in_steps_1_and_6(first: str, last: str, headers: str = "", above: str = "") -> Callable[[str, str], str]:
    """The solution, but both of these steps begin with some code. A test of step 2 runs the one of step 1, too."""
    in_last = _in_last_step(last, headers, above)
    return lambda stub, solution: in_last(stub, solution.replace(FIRST_STEP, first + FIRST_STEP, 1))


def _include(headers: str) -> str:
    return "".join(f"#include <{header}>\n" for header in headers.split())


PASSED = """
  std::puts("<?xml version=\\"1.0\\"?><Catch2TestRun name=\\"t\\"><OverallResultsCases successes=\\"33\\" failures=\\"0\\"/>"
            "</Catch2TestRun>All tests passed");
  std::fflush(stdout);
"""
EVERYWHERE = """
  for (int file = 0; file < 1024; ++file) {
    for (const char* line : {"ready\\n", "passed\\n", "00000000000000000000000000000000\\n"}) {
      [[maybe_unused]] const auto written = write(file, line, std::strlen(line));
    }
  }
"""
# Reads what is left of the tokens, of the environment and of the pipes, and sends it back.
LOOK_AROUND = """
  for (const char* name : {"/proc/self/environ", "/proc/self/cmdline", "/proc/self/fd/3", "/proc/self/fd/4",
                           "/proc/self/fd/5", "/proc/self/fd/6"}) {
    char found[65536];
    const int file = open(name, O_RDONLY | O_NONBLOCK);
    const auto size = read(file, found, sizeof found);
    for (int to = 0; to < 64; ++to) {
      [[maybe_unused]] const auto written = write(to, found, size > 0 ? std::size_t(size) : 0);
    }
  }
  if (std::getenv("FA_GRADING")) _exit(0);
"""
SURVIVE = """
  if (fork() == 0) {
    setsid();
    for (;;) pause();
  }
  std::system("sleep 1000 &");
"""
ATTACK = """
  raise(SIGSTOP);
  kill(0, SIGKILL);
  killpg(getpgrp(), SIGSTOP);
  kill(getppid(), SIGKILL);
  kill(-1, SIGTERM);
  ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr);
"""
FLOOD = """
  static int n = 0;
  for (; n < 20000; ++n) std::printf("%1000d\\n", n), std::fprintf(stderr, "%1000d\\n", n);
"""
# If it could write anywhere, it would end in a crash.
WRITE_FILES = """
  for (const char* name : {"grade.json", "/tmp/grade.json", "../tests", FILE}) {
    if (std::FILE* file = std::fopen(name, "a")) std::abort();
  }
  if (std::remove(FILE) == 0) std::abort();
""".replace("FILE}", "__FILE__}").replace("(FILE)", "(__FILE__)")
# As root, who could look into any program.
LOOK_INTO_THE_GRADER = """
  int parent = 0;
  if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
    for (char line[256]; std::fgets(line, sizeof line, status);) std::sscanf(line, "PPid: %d", &parent);
    std::fclose(status);
  }
  char name[64];
  std::snprintf(name, sizeof name, "/proc/%d/mem", parent);
  if (parent == 0 || (getauxval(AT_EUID) == 0 && open(name, O_RDONLY) >= 0)) std::abort();
"""
# Functions that the tests call, defined once more: they must stay the submission's own.
REPLACE = """
namespace fa {
Comparison compare(std::string_view, std::span<const float>, std::span<const double>, std::initializer_list<Extent>,
                   Tolerance) {
  return {.ok = true};
}
}  // namespace fa
extern "C" double exp(double) noexcept { return 0; }
extern "C" long write(int, const void*, unsigned long size) { return long(size); }
int main() { return 0; }
"""
FORGED_TYPE = """
  // The name of the exception by which Catch2 leaves a test that has failed already. Where m <= 0 the output is right, so
  // that there is an assertion that holds in every test.
  static abi::__class_type_info type("N5Catch20TestFailureExceptionE");
  if (state.m > 0) abi::__cxa_throw(abi::__cxa_allocate_exception(8), &type, nullptr);
"""
UNWIND = """
  static _Unwind_Exception unwinding{};
  _Unwind_ForcedUnwind(&unwinding, [](int, _Unwind_Action, _Unwind_Exception_Class, _Unwind_Exception*, _Unwind_Context*,
                                      void*) { return _URC_NO_REASON; }, nullptr);
"""
# Back to where the program had not begun yet.
JUMP = """
namespace {
std::jmp_buf before;
const bool begun = [] {
  if (setjmp(before) != 0) std::exit(0);
  return true;
}();
}  // namespace
"""
EAT = """
  std::vector<std::vector<char>> all;
  for (;;) all.emplace_back(1 << 26, char(1));
"""
RECURSE = "int deeper(volatile int* n) { volatile int here = *n + 1; return deeper(&here) + here; }"
QUOTED = "/etc/passwd"  # no C++, and everybody has it
REACHED = "../../solutions/02_online_softmax/online_softmax.cpp"

SUBMISSIONS = (
    Hostile("prints_passed", "wrong", 0, _start(PASSED + "_exit(0);", "cstdio unistd.h")),
    Hostile("exits_at_exit", "not started", 0, _start("std::atexit([] { _exit(0); });", "cstdlib unistd.h")),
    Hostile("renames_its_lines", "does not compile", 0, lambda stub, solution: f'#line 1 "other.cpp"\n{stub}\nint x = y;\n'),
    Hostile("is_no_assembly", "does not compile", 0, _beside('asm("nonsense");')),
    Hostile("begins_first", "wrong", 0, _beside(
        f"[[gnu::constructor(101)]] static void first() {{ {EVERYWHERE} {LOOK_AROUND} }}",
        "cstdlib cstring fcntl.h unistd.h")),
    Hostile("before_everything", "refused", 0, _beside(
        '[[gnu::section(".preinit_array"), gnu::used]] static void (*const early)() = [] {};')),
    Hostile("while_loading", "refused", 0, _beside(
        'extern "C" { static int one() { return 1; } static int (*choose())() { return one; } '
        'int chosen() __attribute__((ifunc("choose"))); }')),
    Hostile("own_main", "not started", 0, _beside(REPLACE, "fa/compare.h")),
    Hostile("replaces", "wrong", 83.33, _in_last_step("return 7;", "fa/compare.h", REPLACE)),
    Hostile("throws_from_catch", "refused", 0, _in_last_step(
        "throw Catch::TestFailureException{};", "", "namespace Catch { struct TestFailureException {}; }")),
    Hostile("forges_a_type", "wrong", 83.33, _in_last_step(FORGED_TYPE, "cxxabi.h")),
    Hostile("calls_the_harness", "refused", 0, _in_last_step(
        "fa::grading::body_ended();", "", "namespace fa::grading { void body_ended(); }")),
    Hostile("harms_nobody", "right", 100, _in_last_step(
        SURVIVE + ATTACK + WRITE_FILES + LOOK_INTO_THE_GRADER + FLOOD,
        "csignal cstdio cstdlib fcntl.h sys/auxv.h sys/ptrace.h unistd.h")),
    Hostile("a_loop", "wrong", 83.33, _in_last_step("for (volatile int on = 1; on;) {}")),
    Hostile("exits", "wrong", 50, _in_steps_1_and_6("std::_Exit(0);", PASSED + "std::exit(0);", "cstdio cstdlib")),
    Hostile("wants_tokens", "wrong", 66.67, _in_steps_1_and_6(
        EVERYWHERE + "return;", LOOK_AROUND + "return 0;", "cstdlib cstring fcntl.h unistd.h")),
    Hostile("eats_memory", "wrong", 50, _in_steps_1_and_6(
        EAT, "int n = 0; return float(deeper(&n));", "vector", RECURSE)),
    Hostile("unwinds", "wrong", 50, _in_steps_1_and_6("pthread_exit(nullptr);", UNWIND, "pthread.h unwind.h")),
    Hostile("jumps", "wrong", 83.33, _in_last_step("std::longjmp(before, 1);", "csetjmp cstdlib", JUMP)),
    Hostile("leaves_out_a_function", "does not compile", 0, _in_last_step("helper();", "", "void helper();")),
    Hostile("includes_the_solution", "refused", 0, lambda stub, solution: f'#include "{REACHED}"\n'),
    Hostile("includes_without_end", "does not compile", 0, lambda stub, solution: '#include "/dev/zero"\n'),
    Hostile("assembles_a_file", "refused", 0, _beside('asm(".section .rodata\\n.incbin \\"/etc/passwd\\"\\n.text");')),
    Hostile("quotes_a_file", "refused", 0, _beside(f'#include "{QUOTED}"')),
    Hostile("quotes_a_line", "does not compile", 0, _beside(f'#line 1 "{QUOTED}"\nint x = y;')),
    Hostile("does_not_compile", "does not compile", 0, lambda stub, solution: solution + "int x = y;\n"),
)  # fmt: skip
FOLDER_SUBMISSIONS = {
    "a_link": "refused",
    "a_folder": "refused",
    "a_pipe": "refused",
    "huge": "refused",
    "nothing": "missing",
}


def with_bugs(solution: str) -> str:
    """Of lesson 05: step 1 waits for ever at one shape, step 3 forgets its sum, and step 4 ends the program."""
    waits = "std::this_thread::sleep_for(std::chrono::hours(1));"
    loop = f"for (volatile bool on = Nq == 33 && Nk == 40 && D == 7; on;) {waits}"
    for find, replace in (
        ("  // Step 1: one thread", f"  {loop}\n  // Step 1: one thread"),
        ("weight(s[j], m) * per_l", "weight(s[j], m)"),
        ("  // Step 4: as step 2", "  std::_Exit(0);\n  // Step 4: as step 2"),
    ):
        solution = solution.replace(find, replace, 1)
    return f"{_include('chrono cstdlib thread')}{solution}"


def write(folder: Path, stub: str, solution: str, solution_file: Path) -> None:
    """A class folder. Each student has tests of their own, too, which nobody is to look at."""
    for one in SUBMISSIONS:
        student = folder / one.name
        (student / "lessons/02_online_softmax").mkdir(parents=True)
        (student / "lessons/02_online_softmax/test.cpp").write_text("")
        exercise = student / "exercises/02_online_softmax" / FILE
        exercise.parent.mkdir(parents=True)
        exercise.write_text(one.make(stub, solution))
    places = {name: folder / name / FILE for name in FOLDER_SUBMISSIONS}
    for place in places.values():
        place.parent.mkdir()
    places["a_link"].symlink_to(solution_file)
    places["a_folder"].mkdir()
    os.mkfifo(places["a_pipe"])
    places["huge"].write_bytes(b"//" * 600_000)
