"""dtypecheck build-hook: reads a LibTorch's version and ABI, links what was built ahead, compiles what was not.

The LibTorch here is a few bytes that look like one, and the tracer's sources are toys: an install is made of a copy of the
program with toys around it. What the real tracer does is tested with the tracer.
"""

import os
import pathlib
import shutil
import subprocess
import unittest

import tool

# at::getStepCallbacksUnlessEmpty, which marks a libtorch_cpu.so, and a c10 function that takes a std::string of either ABI.
LIBRARY = """
void _ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE(void) {}
void %s(void) {}
/* libstdc++'s own, under either ABI: */
void _ZNSt7__cxx1112basic_stringIcE1x(void) {}
void _ZZNKSt8__detail11_AnyMatcherINSt7__cxx1112regex_traitsIcEELb0ELb0ELb0EEclEcE5__nul(void) {}
"""
NEW_ABI = "_ZN3c106detail5tokenERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
OLD_ABI = "_ZN3c106detail5tokenERKSs"

HEADER = """
#define TORCH_VERSION_MAJOR %d
#define TORCH_VERSION_MINOR %d
#define TORCH_VERSION_PATCH %d
"""
HOOK = """
#include <string>
#include <torch/version.h>
#include "core/toy.h"
#ifndef NDEBUG
#error NDEBUG is part of the ABI
#endif
extern "C" __attribute__((visibility("default"))) int dtypecheck_hook_start(const void*) { return TOY + TORCH_VERSION_MINOR; }
std::string toy(const std::string& s) { return s; }
"""


class HookTest(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.prefix = self.folder / "prefix"
        self.program = self.prefix / "bin/dtypecheck"
        self.program.parent.mkdir(parents=True)
        shutil.copy2(tool.DTYPECHECK, self.program)
        source = self.prefix / "share/dtypecheck/src"
        for name, text in {"tracer/hook/sources.txt": "# the list\ntracer/hook/hook.cpp\ntracer/hook/more.cpp\n",
                           "tracer/hook/hook.cpp": HOOK, "tracer/hook/more.cpp": "int more() { return 1; }\n",
                           "core/toy.h": "#define TOY 100\n"}.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text)
        self.source = source / "tracer/hook/hook.cpp"
        self.output = self.work / "hook.so"

    def make_libtorch(self, version=(1, 13, 1), symbol=NEW_ABI, headers=True, wheel_version=None, name="torch"):
        torch = self.folder / name
        (torch / "lib").mkdir(parents=True)
        library = tool.compile_c(LIBRARY % symbol, torch / "lib/libtorch_cpu.so", "-shared", "-fPIC")
        if headers:
            header = torch / "include/torch/csrc/api/include/torch/version.h"
            header.parent.mkdir(parents=True)
            header.write_text(HEADER % version)
        if wheel_version:
            (torch / "version.py").write_text(f"__version__ = '{wheel_version}'\ndebug = False\n")
        return library

    def add_prebuilt(self, *lines):
        hooks = self.prefix / "libexec/dtypecheck"
        hooks.mkdir(parents=True)
        (hooks / "hooks.txt").write_text("\n".join(lines) + "\n")
        for line in lines:
            (hooks / line.split()[2]).write_text(line)

    def build(self, library, *options, **more):
        return self.run_tool("build-hook", "--libtorch", library, "-o", self.output, *options, tool=self.program, **more)

    def assert_built(self, result, *said):
        self.assertEqual((result.status, result.out), (0, ""), result.err)
        self.assertEqual(len(result.err.splitlines()), len(said), result.err)
        for part in said:
            self.assertIn(part, result.err)
        self.assertTrue(self.output.exists())

    def symbols(self, *options):
        return subprocess.run(["nm", "-C", *options, self.output], capture_output=True, text=True, check=True).stdout


class BuildHook(HookTest):
    def test_compiles(self):
        result = self.build(self.make_libtorch())
        self.assert_built(result, "compiling the tracer for LibTorch 1.13.1, once …")
        self.assertIn("toy(std::__cxx11::basic_string", self.symbols())
        self.assertIn(" T dtypecheck_hook_start", self.symbols("-D"))
        self.assertNotIn("toy", self.symbols("-D"))
        self.assertEqual(sorted(p.name for p in self.work.iterdir()), ["hook.so", "hook.so.lock"])

    def test_compiles_for_the_old_abi(self):
        self.assert_built(self.build(self.make_libtorch(symbol=OLD_ABI)), "compiling")
        self.assertNotIn("__cxx11", self.symbols())

    def test_language_standard(self):
        with self.source.open("a") as source:
            source.write("\n#if __cplusplus > 201703L\nextern \"C\" { int newer_than_17() { return 0; } }\n#endif\n")
        self.assert_built(self.build(self.make_libtorch((2, 13, 0), name="a")), "compiling")
        self.assertNotIn("newer_than_17", self.symbols())
        self.assert_built(self.build(self.make_libtorch((2, 14, 0), name="b"), "--force"), "compiling")
        self.assertIn("newer_than_17", self.symbols())

    def test_what_is_there_is_kept(self):
        library = self.make_libtorch()
        self.output.write_text("there")
        self.assert_built(self.build(library))
        self.assertEqual(self.output.read_text(), "there")
        self.assert_built(self.build(library, "--force"), "compiling")

    def test_built_ahead(self):
        self.add_prebuilt("2.10.0 1 other.so", "2.11.0 0 old-abi.so", "2.11.0 1 right.so")
        result = self.build(self.make_libtorch((2, 11, 0), wheel_version="2.11.0+cu130", headers=False))
        self.assert_built(result)
        self.assertEqual(self.output.read_text(), "2.11.0 1 right.so")

    def test_built_ahead_serves_its_patch_releases(self):
        self.add_prebuilt("2.11.0 1 right.so")
        self.assert_built(self.build(self.make_libtorch((2, 11, 1))))
        self.assertEqual(self.output.read_text(), "2.11.0 1 right.so")

    def test_built_ahead_is_not_for_what_lies_between_releases(self):
        """Its headers may differ from those of the release that it has the number of."""
        self.add_prebuilt("2.11.0 1 right.so")
        for number, version in enumerate(["2.11.0a0+gitdeadbee", "2.11.0a0+ecf3bae40a.nv26.01", "2.11.0rc2", "2.11.0.dev20260101"]):
            library = self.make_libtorch((2, 11, 0), wheel_version=version, name=f"between{number}")
            self.assert_built(self.build(library, "--force"), "compiling the tracer for LibTorch 2.11.0")
        for number, version in enumerate(["2.11.0", "2.11.1+cu130", "2.11.0.post2"]):
            self.output.unlink()
            self.assert_built(self.build(self.make_libtorch((2, 11, 0), wheel_version=version, name=f"release{number}")))

    def test_built_ahead_for_another_abi_is_not_taken(self):
        self.add_prebuilt("1.13.1 1 wrong.so")
        self.assert_built(self.build(self.make_libtorch(symbol=OLD_ABI)), "compiling")

    def test_built_ahead_and_gone(self):
        self.add_prebuilt("1.13.1 1 gone.so")
        library = self.make_libtorch()
        self.assert_built(self.build(library))
        (self.prefix / "libexec/dtypecheck/gone.so").unlink()
        self.assertFalse(self.output.exists())
        self.assert_built(self.build(library), "compiling")

    def test_version_of_an_archive(self):
        self.add_prebuilt("2.11.0 1 right.so")
        library = self.make_libtorch(headers=False)
        (self.folder / "torch/build-version").write_text("2.11.0+cpu\n")
        self.assert_built(self.build(library))

    def test_debian_layout(self):
        library = self.make_libtorch()
        usr = self.folder / "usr"
        (usr / "lib/x86_64-linux-gnu").mkdir(parents=True)
        shutil.move(self.folder / "torch/include", usr / "include")
        shutil.move(library, usr / "lib/x86_64-linux-gnu/libtorch_cpu.so.1.13")
        self.assert_built(self.build(usr / "lib/x86_64-linux-gnu/libtorch_cpu.so.1.13"), "LibTorch 1.13.1")

    def test_two_at_once_build_once(self):
        library = self.make_libtorch()
        arguments = ("build-hook", "--libtorch", library, "-o", self.output)
        processes = [self.start(*arguments, tool=self.program) for _ in range(4)]
        said = b"".join(tool.finish(process)[1] for process in processes)
        self.assertEqual([process.returncode for process in processes], [0] * 4)
        self.assertEqual(said.count(b"compiling"), 1)

    def test_lock_of_a_killed_process_does_not_stay(self):
        library = self.make_libtorch()
        with self.source.open("a") as source:
            source.write('#include "slow.fifo"\n')
        fifo = self.source.parent / "slow.fifo"
        os.mkfifo(fifo)
        process = self.start("build-hook", "--libtorch", library, "-o", self.output, tool=self.program)
        with fifo.open("w"):  # the compiler reads it now
            process.kill()
            process.communicate()
        fifo.unlink()
        fifo.write_text("")
        self.assert_built(self.build(library), "compiling")

    def test_environment_of_the_run_is_not_the_compilers(self):
        compiler = self.write("bin/mycxx", f'#!/bin/sh\nenv >> "{self.work}/seen"\nexec {os.environ.get("CXX", "c++")} "$@"\n', 0o755)
        self.environment.update(CXX=str(compiler), DTYPECHECK_RUN="/run", DTYPECHECK_EXE="x", LD_PRELOAD="libm.so.6")
        self.assert_built(self.build(self.make_libtorch()), "compiling")
        seen = (self.work / "seen").read_text()
        self.assertNotIn("DTYPECHECK_", seen)
        self.assertNotIn("LD_PRELOAD", seen)


class Failures(HookTest):
    def test_no_compiler(self):
        self.environment["PATH"] = str(self.work)
        self.environment.pop("CXX", None)
        result = self.build(self.make_libtorch())
        self.assert_one_line(result, "no C++ compiler", "apt-get install g++")
        self.assertFalse(self.output.exists())

    def test_compiler_that_cannot_compile_is_passed_over(self):
        self.environment["CXX"] = "/bin/false"
        self.assert_built(self.build(self.make_libtorch()), "compiling")

    def test_compile_error(self):
        library = self.make_libtorch()
        self.source.write_text("#error no such luck\n")
        result = self.build(library)
        self.assertEqual(result.status, 2)
        self.assertIn("could not be compiled with", result.err.splitlines()[-1])
        log = pathlib.Path(str(self.output) + ".log")
        self.assertIn(str(log), result.err)
        self.assertIn("no such luck", log.read_text())
        self.assertFalse(self.output.exists())

        log.write_text("kept")
        self.assert_one_line(self.build(library), "could not be compiled before", "--force")
        self.assertEqual(log.read_text(), "kept")  # no compiler ran

        self.source.write_text(HOOK)
        self.assert_built(self.build(library, "--force"), "compiling")

    def test_reason_is_left_for_the_report(self):
        run = self.work / "run"
        run.mkdir()
        self.environment.update(PATH=str(self.work), DTYPECHECK_RUN=str(run))
        self.environment.pop("CXX", None)
        self.build(self.make_libtorch())
        note = (run / f"untraced.{os.getpid()}.txt").read_text()
        self.assertIn("no C++ compiler", note)
        self.assertEqual(len(note.splitlines()), 1)

    def test_no_headers(self):
        result = self.build(self.make_libtorch(headers=False, wheel_version="1.13.1"))
        self.assert_one_line(result, "LibTorch 1.13.1 came without headers", "libtorch_cpu.so")

    def test_headers_of_another_version(self):
        result = self.build(self.make_libtorch((2, 6, 0), wheel_version="1.13.1+cpu"))
        self.assert_one_line(result, "LibTorch 1.13.1 came without headers")

    def test_no_version(self):
        self.assert_one_line(self.build(self.make_libtorch(headers=False)), "version.py", "version.h")

    def test_odd_version(self):
        result = self.build(self.make_libtorch(headers=False, wheel_version="main"))
        self.assert_one_line(result, "version.py", "'main'", "2.11.0")

    def test_no_sources(self):
        """A build folder's own program falls back to the source tree. Its real tracer would take minutes where the system's
        folders have an ATen: this compiler takes the probe and no source."""
        (self.prefix / "share/dtypecheck/src/tracer/hook/sources.txt").unlink()
        compiler = os.environ.get("CXX", "c++")
        self.environment["CXX"] = str(self.write("bin/mycxx", f"""\
#!/bin/sh
case "$*" in *" -c "*) echo "$@" >> "{self.work}/seen"; exit 1;; esac
exec {compiler} "$@"
""", 0o755))
        result = self.build(self.make_libtorch((1, 13, 1)))
        self.assertEqual(result.status, 2)
        self.assertIn("could not be compiled", result.err)
        seen = (self.work / "seen").read_text()
        self.assertRegex(seen, r" -c /\S+\.cpp ")
        self.assertNotIn(str(self.prefix), seen)
        self.assertFalse(self.output.exists())

    def test_no_libtorch(self):
        for content in (b"", b"hello", b"\x7fELF", b"\x7fELF\x02\x01\x01" + bytes(57), b"\x7fELF" + b"\xff" * 200):
            (self.work / "lib.so").write_bytes(content)
            self.assert_one_line(self.build(self.work / "lib.so"), "lib.so", "is no libtorch_cpu.so")
        self.assert_one_line(self.build(tool.DTYPECHECK), "is no libtorch_cpu.so")
        self.assert_one_line(self.build("none.so"), "none.so", "No such file")
        self.assert_one_line(self.build("."), "is no libtorch_cpu.so")

    def test_damaged_library(self):
        library = self.make_libtorch()
        whole = library.read_bytes()
        for cut in range(0, min(len(whole), 4096), 97):
            library.write_bytes(whole[:cut])
            self.assertEqual(self.build(library).status, 2)
            self.assertFalse(self.output.exists())

    def test_unwritable_output(self):
        library = self.make_libtorch()
        self.output = pathlib.Path("/proc/none/hook.so")
        self.assert_one_line(self.build(library), "/proc/none/hook.so", "cannot be written")


class Flags(tool.ToolTest):
    def test_required(self):
        self.assert_one_line(self.run_tool("build-hook"), "required", "build-hook --help")


if __name__ == "__main__":
    unittest.main()
