// fa/kernel_name.h: the name of a kernel, out of what each compiler makes of it.

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "fa/kernel_name.h"

using fa::kernel_name;

namespace {

template <int D>
void scale_kernel(float*) {}
void plain_kernel() {}

template <auto kernel, class... Arguments>
std::string name_seen_by_this_compiler(Arguments...) {
  return kernel_name(__PRETTY_FUNCTION__);
}

}  // namespace

TEST_CASE("a kernel's name comes without namespaces, from GCC's spelling") {
  CHECK(kernel_name("void fa::launch(const fa::LaunchShape&, Arguments ...) [with auto kernel = "
                    "lesson::{anonymous}::my_kernel<5>; Arguments = {float*, int}]") == "my_kernel<5>");
  CHECK(kernel_name("void fa::launch(const fa::LaunchShape&, Arguments ...) [with auto kernel = lesson::plain; "
                    "Arguments = {}]") == "plain");
  CHECK(kernel_name("void f() [with auto kernel = plain]") == "plain");
}

TEST_CASE("a kernel's name comes without namespaces, from nvcc's spelling") {
  CHECK(kernel_name("void fa::launch(const fa::LaunchShape&, Arguments ...) [with auto kernel = "
                    "lesson::_GLOBAL__N__a7a94fbe_4_b_cu_main::plain; Arguments = {int}]") == "plain");
}

TEST_CASE("a kernel's name comes without namespaces, from Clang's spelling") {
  CHECK(kernel_name("void fa::launch(const LaunchShape &, Arguments...) [kernel = "
                    "&lesson::(anonymous namespace)::my_kernel<5>, Arguments = <int>]") == "my_kernel<5>");
  CHECK(kernel_name("void fa::launch(const LaunchShape &, Arguments...) [kernel = &lesson::plain, Arguments = <>]") ==
        "plain");
}

TEST_CASE("template arguments of a kernel are kept whole") {
  CHECK(kernel_name("void f() [with auto kernel = lesson::k<float, 3, true>; A = {int}]") == "k<float, 3, true>");
  CHECK(kernel_name("void f() [with auto kernel = lesson::k<lesson::Tr<Mode::a, int> >; A = {int}]") ==
        "k<lesson::Tr<Mode::a, int> >");
  CHECK(kernel_name("void f() [kernel = &k<(lesson::Mode)1, int[3]>, A = <int>]") == "k<(lesson::Mode)1, int[3]>");
}

TEST_CASE("where there is no kernel, all is kept") {
  CHECK(kernel_name("void f()") == "void f()");
  CHECK(kernel_name("") == "");
}

TEST_CASE("the compiler of this test spells kernels as expected") {
  CHECK(name_seen_by_this_compiler<plain_kernel>(1, 2.0f) == "plain_kernel");
  CHECK(name_seen_by_this_compiler<scale_kernel<5>>(1).starts_with("scale_kernel"));  // old Clangs leave out the <5>
}
