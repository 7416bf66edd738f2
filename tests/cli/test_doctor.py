"""dtypecheck doctor: what it says of an environment, and its status. Pythons and torches are made of a few files."""

import os
import pathlib
import shutil
import sys
import unittest

import tool
from test_build_hook import HookTest, NEW_ABI, OLD_ABI


class Doctor(HookTest):
    """An install without hooks, to which hooks are added; its Python is this one, with a torch that is a library alone."""

    def setUp(self):
        super().setUp()
        for library in ("libdtypecheck_preload.so",):
            (self.prefix / "lib").mkdir(exist_ok=True)
            shutil.copy2(pathlib.Path(tool.DTYPECHECK).parent.parent / "lib" / library, self.prefix / "lib" / library)

    def make_torch(self, version, folder="site", symbol=NEW_ABI, headers=False):
        self.make_libtorch(tuple(map(int, version.split("+")[0].split("a")[0].split("."))), symbol, headers=headers,
                           wheel_version=version, name=f"{folder}/torch")
        (self.folder / folder / "torch/__init__.py").touch()
        paths = [str(self.folder / folder), *filter(None, [self.environment.get("PYTHONPATH")])]
        self.environment["PYTHONPATH"] = ":".join(paths)

    def doctor(self, *options, **more):
        return self.run_tool("doctor", "--python", sys.executable, *options, tool=self.program, **more)

    def lines(self, result):
        self.assertEqual(result.err, "")
        return {line[:11].strip(): line[11:] for line in result.out.splitlines()}

    def test_all_well(self):
        self.make_torch("2.11.0+cu130")
        self.add_prebuilt("2.11.0 1 right.so")
        result = self.doctor()
        lines = self.lines(result)
        self.assertEqual(result.status, 0, result.out)
        self.assertIn("2.11.0+cu130, new C++ ABI", lines["torch"])
        self.assertTrue(lines["tracer"].startswith("prebuilt: ") and lines["tracer"].endswith("right.so"), lines)
        self.assertEqual(lines["preload"], "works")
        self.assertIn(f"CPython {sys.version.split()[0]}", lines["python"])
        self.assertIn("train.py", lines["all well"])
        others = result.out.count("is another torch")  # of the Python that runs this
        self.assertLessEqual(len(result.out.splitlines()), 11 + others, result.out)

    def test_no_torch(self):
        self.environment["PYTHONPATH"] = ""
        result = self.run_tool("doctor", "--python", self.bare_python(), tool=self.program)
        self.assertEqual(result.status, 1, result.out)
        self.assertEqual(self.lines(result)["torch"], "none in this Python")
        self.assertIn("install torch", self.lines(result)["to do"])

    def bare_python(self):
        return self.write("bare-python", f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n', 0o755)

    def test_two_torches(self):
        self.make_torch("2.8.0", "second")
        self.make_torch("2.11.0", "first")
        self.add_prebuilt("2.11.0 1 right.so")
        result = self.doctor()
        self.assertIn("first/torch", self.lines(result)["torch"])
        self.assertIn("second/torch is another", result.out)

    def test_hand_built_torch_needs_a_compiler(self):
        self.make_torch("2.11.0a0+gitdeadbee", headers=True)
        self.add_prebuilt("2.11.0 1 right.so")
        self.assertIn("not a release", self.lines(self.doctor())["tracer"])
        self.environment.update(PATH=str(self.work))
        self.environment.pop("CXX", None)
        result = self.doctor()
        self.assertEqual(result.status, 1)
        self.assertEqual(self.lines(result)["compiler"], "none")
        self.assertIn("apt-get install g++", self.lines(result)["to do"])

    def test_old_abi(self):
        self.make_torch("2.1.2", symbol=OLD_ABI)
        self.add_prebuilt("2.1.2 1 new.so", "2.1.2 0 old.so")
        self.assertTrue(self.lines(self.doctor())["tracer"].endswith("old.so"))

    def test_somebody_elses_preload(self):
        self.make_torch("2.11.0")
        self.environment["LD_PRELOAD"] = "libm.so.6"
        self.assertEqual(self.lines(self.doctor())["preload"], "works; LD_PRELOAD holds libm.so.6 too")

    def test_read_only_home(self):
        self.make_torch("2.11.0")
        self.environment.update(HOME="/proc/none", XDG_CACHE_HOME="/proc/none")
        self.assertIn("own folder", self.lines(self.doctor())["cache"])

    def test_no_python(self):
        result = self.run_tool("doctor", "--python", "no-such-python", tool=self.program)
        self.assertEqual(result.status, 1)
        self.assertIn("no such program", result.out)
        notes = self.write("notes", "#!/bin/sh\necho hello\n", 0o755)
        self.assertIn("is it a Python 3?", self.run_tool("doctor", "--python", notes, tool=self.program).out)


if __name__ == "__main__":
    unittest.main()
