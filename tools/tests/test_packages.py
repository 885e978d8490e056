"""What the set-up finds on a system, and which commands it would run. Installs nothing."""

import os
from pathlib import Path
from unittest import mock

import apt_plan
import packages
from set_up_folder import InFolder

GCC = "c++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc."
OLD_GCC = "g++ (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0\nCopyright (C) 2019 Free Software Foundation, Inc."
CLANG = "Ubuntu clang version 18.1.3 (1ubuntu1)\nTarget: x86_64-pc-linux-gnu"
OLD_CLANG = "Debian clang version 11.0.1-2\nTarget: x86_64-pc-linux-gnu"


class Versions(InFolder):
    def setUp(self):
        super().setUp()
        self.only_our_programs()

    def test_a_tool_is_found_with_its_version(self):
        self.program("cmake", "cmake version 3.25.1")
        self.assertEqual(packages.tool(("cmake",), 3, 25), ("3.25.1", ""))

    def test_an_old_tool_will_not_do_and_is_named(self):
        self.program("cmake", "cmake version 3.9.6")
        self.assertEqual(packages.tool(("cmake",), 3, 25), (None, "3.9.6 is too old"))

    def test_a_missing_tool_or_one_that_fails_is_not_there(self):
        self.assertEqual(packages.tool(("cmake",), 3, 25), (None, ""))
        self.program("cmake", "x").write_text("#!/bin/sh\necho 3.30.0; exit 1\n")
        self.assertEqual(packages.tool(("cmake",), 3, 25), (None, ""))

    def test_compilers_are_told_apart(self):
        for banner, found in (
            (GCC, ("gcc 12.2.0", "")),
            (OLD_GCC, (None, "9.4.0 is too old")),
            (CLANG, ("clang 18.1.3", "")),
            (OLD_CLANG, (None, "11.0.1 is too old")),
            ("pcc 1.2.0", (None, "")),
        ):
            self.program("c++", banner)
            self.assertEqual(packages.compiler_version("c++"), found)

    def test_the_choice_is_left_to_cmake_when_it_would_make_the_same(self):
        self.program("c++", GCC)
        self.program("clang++", CLANG)
        self.assertEqual(packages.choose_compiler(), (None, ("gcc 12.2.0", "")))

    def test_a_newer_compiler_is_taken_when_the_default_is_too_old(self):
        self.program("c++", OLD_GCC)
        self.program("clang++-18", CLANG)
        self.assertEqual(packages.choose_compiler(), ("clang++-18", ("clang 18.1.3", "")))

    def test_without_a_good_compiler_the_old_one_is_named(self):
        self.program("g++", OLD_GCC)
        self.assertEqual(packages.choose_compiler(), (None, (None, "9.4.0 is too old")))

    def test_cxx_decides_alone(self):
        self.program("c++", GCC)
        self.program("mine", OLD_GCC)
        for wanted, remark in (
            ("mine", "CXX=mine: 9.4.0 is too old"),
            ("missing", "CXX=missing: no C++ compiler that runs"),
            ("'open", "CXX='open: no C++ compiler that runs"),
        ):
            with mock.patch.dict(os.environ, CXX=wanted):
                self.assertEqual(packages.choose_compiler(), (None, (None, remark)))
        with mock.patch.dict(os.environ, CXX="c++ -stdlib=libc++"):
            self.assertEqual(packages.choose_compiler(), (None, ("gcc 12.2.0", "")))


class CMakePackages(InFolder):
    def setUp(self):
        super().setUp()
        self.only_our_programs(CMAKE_PREFIX_PATH=str(self.folder))
        self.enterContext(mock.patch("packages.Path", lambda part: Path(str(part).replace("/usr", str(self.folder)))))

    def package(self, path: str, version: str):
        file = self.folder / path
        file.parent.mkdir(parents=True)
        file.write_text(f'set(PACKAGE_VERSION_COMPATIBLE FALSE)\nset(PACKAGE_VERSION {version})\n"')

    def test_the_spellings_of_the_packages(self):
        self.package("lib/cmake/Catch2/Catch2ConfigVersion.cmake", '"3.7.1"')
        self.package("lib64/cmake/benchmark/benchmarkConfigVersion.cmake", '"1.8.3"')
        self.package("share/cmake/boost_context-1.74.0/boost_context-config-version.cmake", "1.74.0")
        self.assertEqual(packages.cmake_package("Catch2", 3, 4), ("3.7.1", ""))
        self.assertEqual(packages.cmake_package("benchmark", 1, 7), ("1.8.3", ""))
        self.assertEqual(packages.cmake_package("boost_context", 1, 74), ("1.74.0", ""))

    def test_eigen_is_found_where_debian_and_where_fedora_keep_it(self):
        self.package("share/eigen3/cmake/Eigen3ConfigVersion.cmake", '"3.3.9"')
        self.assertEqual(packages.cmake_package("eigen3", 3, 4), (None, "3.3.9 is too old"))
        self.package("share/cmake/eigen3/Eigen3ConfigVersion.cmake", '"5.0.1"')
        self.assertEqual(packages.cmake_package("eigen3", 3, 4), ("5.0.1", ""))

    def test_each_package_of_cmake_is_asked_for_by_the_name_that_it_has(self):
        for path, version in (
            ("lib/cmake/Catch2/Catch2ConfigVersion.cmake", "3.4"),
            ("lib/cmake/benchmark/benchmarkConfigVersion.cmake", "1.7"),
            ("lib/cmake/boost_context-1.74.0/boost_context-config-version.cmake", "1.74"),
            ("share/eigen3/cmake/Eigen3ConfigVersion.cmake", "3.4"),
        ):
            self.package(path, f'"{version}"')
        for need in packages.NEEDS:
            if need.name in ("Catch2", "Google Benchmark", "Boost.Context", "Eigen"):
                self.assertEqual(f"{need.find().version} or newer", need.needed)

    def test_an_old_one_will_not_do(self):
        self.package("lib/cmake/Catch2/Catch2ConfigVersion.cmake", '"2.13.10"')
        self.assertEqual(packages.cmake_package("Catch2", 3, 4), (None, "2.13.10 is too old"))
        self.package("share/cmake/Catch2/Catch2ConfigVersion.cmake", '"3.4.0"')
        self.assertEqual(packages.cmake_package("Catch2", 3, 4), ("3.4.0", ""))

    def test_none_at_all(self):
        self.assertEqual(packages.cmake_package("Catch2", 3, 4), (None, ""))

    def test_a_folder_that_may_not_be_read_holds_nothing(self):
        with mock.patch.object(Path, "glob", side_effect=PermissionError):
            self.assertEqual(packages.cmake_package("Catch2", 3, 4), (None, ""))


ONE_LINE = """\
# deb http://mirror.example/off bookworm main
deb-src http://mirror.example/debian bookworm main
deb cdrom:[Debian 12]/ bookworm main
deb http://vendor.example/debian bookworm main
deb [arch=amd64 signed-by=/keys/a.gpg] http://mirror.example/debian bookworm-updates main contrib # all
"""
STANZAS = """\
Types: deb
URIs: http://off.example/debian
Suites: bookworm-updates
Components: main
Enabled: no

Types: deb deb-src
# a comment in between
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main non-free-firmware
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc=
"""


class Sources(InFolder):
    def read(self, **files: str):
        (self.folder / "sources.list.d").mkdir(exist_ok=True)
        for form, text in files.items():
            (self.folder / "sources.list.d" / f"some.{form}").write_text(text)
        return apt_plan.read_sources(self.folder)

    def test_a_line_is_derived_with_mirror_key_and_options(self):
        derived = apt_plan.missing_source("bookworm-backports", "bookworm", self.read(list=ONE_LINE))
        line = "deb [arch=amd64 signed-by=/keys/a.gpg] http://mirror.example/debian bookworm-backports main\n"
        self.assertEqual(derived, ("course-bookworm-backports.list", line))

    def test_a_stanza_is_derived_with_mirror_and_key(self):
        name, text = apt_plan.missing_source("bookworm-backports", "bookworm", self.read(sources=STANZAS))
        self.assertEqual(name, "course-bookworm-backports.sources")
        self.assertEqual(
            text,
            "Types: deb\nSuites: bookworm-backports\nComponents: main\nURIs: http://mirror.example/debian\n"
            "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc=\n",
        )

    def test_what_was_derived_is_found_again(self):
        for read, text in ((apt_plan.read_list, ONE_LINE), (apt_plan.read_stanzas, STANZAS)):
            _, added = apt_plan.missing_source("bookworm-backports", "bookworm", read(text))
            self.assertIsNone(apt_plan.missing_source("bookworm-backports", "bookworm", read(text + "\n" + added)))

    def test_an_unknown_mirror_is_not_guessed(self):
        sources = self.read(list="deb http://vendor.example/ other main\n")
        self.assertIsNone(apt_plan.missing_source("bookworm-backports", "bookworm", sources))

    def test_no_sources_at_all(self):
        self.assertEqual(apt_plan.read_sources(self.folder / "missing"), [])


class Plans(InFolder):
    def plan(self, system, root: bool = True, audit: str = "", sources: str = ONE_LINE):
        self.only_our_programs()
        self.program("sudo", "")
        with (
            mock.patch("apt_plan.system_release", return_value=system),
            mock.patch("apt_plan.read_sources", return_value=apt_plan.read_list(sources)),
            mock.patch("apt_plan.output", return_value=audit),
            mock.patch("os.geteuid", return_value=0 if root else 1000),
        ):
            return apt_plan.make(["g++", "catch2"], self.folder)

    def test_where_the_release_is_new_enough_no_source_is_added(self):
        plan = self.plan(("debian", "trixie"))
        self.assertIsNone(plan.source)
        self.assertEqual([command[-1] for _, command in plan.commands()], ["update", "catch2"])

    def test_debian_12_gets_catch2_from_backports(self):
        plan = self.plan(("debian", "bookworm"))
        self.assertEqual(plan.packages, ["g++", "catch2/bookworm-backports"])
        self.assertIn("bookworm-backports main", plan.source.read_text())
        first = plan.commands()[0][1]
        self.assertEqual(first[-2:], [str(plan.source), f"/etc/apt/sources.list.d/{plan.source.name}"])
        self.assertEqual(plan.removal()[-1], first[-1])

    def test_a_user_gets_sudo_and_root_does_not(self):
        for root in (True, False):
            for _, command in self.plan(("debian", "bookworm"), root).commands():
                self.assertEqual(command[0] == "sudo", not root)

    def test_an_interrupted_installation_is_completed_first(self):
        plan = self.plan(("ubuntu", "noble"), audit="cmake is half installed")
        self.assertEqual(plan.commands()[0][1][-3:], ["dpkg", "--configure", "-a"])
