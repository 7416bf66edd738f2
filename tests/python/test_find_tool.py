"""Where the package finds the program, in an installed layout, in a source tree and where it is named."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

DTYPECHECK = os.environ["DTYPECHECK"]
PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python" / "dtypecheck"


class FindTool(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dtypecheck-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {k: v for k, v in os.environ.items() if k not in ("DTYPECHECK", "PYTHONPATH")}

    def package_in(self, folder):
        shutil.copytree(PACKAGE, folder / "dtypecheck", ignore=shutil.ignore_patterns("__pycache__"))
        self.environment["PYTHONPATH"] = str(folder)
        return folder / "dtypecheck"

    def program(self, path, says):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {says} \"$@\"\nexit 5\n")
        path.chmod(0o755)
        return path

    def run_module(self, *arguments, **environment):
        return subprocess.run([sys.executable, "-B", "-m", "dtypecheck", *arguments], cwd=self.folder, text=True,
                              env={**self.environment, **environment}, capture_output=True, check=False)

    def assert_one_line(self, result, *parts):
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for part in ("dtypecheck: ", *parts):
            self.assertIn(str(part), result.stderr)

    def installed(self):
        package = self.package_in(self.folder / "site")
        info = self.folder / "site" / "dtypecheck-9.8.7.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dtypecheck\nVersion: 9.8.7\n")
        return package

    def test_installed_program_gets_arguments_and_gives_its_status(self):
        self.program(self.installed() / "bin" / "dtypecheck", "installed")
        result = self.run_module("trace", "--", "a b")
        self.assertEqual((result.returncode, result.stdout), (5, "installed trace -- a b\n"), result.stderr)

    def test_python_of_the_package_is_examined(self):
        self.program(self.installed() / "bin" / "dtypecheck", "ran")
        self.assertEqual(self.run_module("doctor").stdout, f"ran doctor --python {sys.executable}\n")
        self.assertEqual(self.run_module("demo", "--out", "x").stdout, f"ran demo --python {sys.executable} --out x\n")
        self.assertEqual(self.run_module("doctor", "--python=other").stdout, "ran doctor --python=other\n")
        self.assertEqual(self.run_module("report", "demo").stdout, "ran report demo\n")

    def test_named_program_comes_first(self):
        self.program(self.installed() / "bin" / "dtypecheck", "installed")
        named = self.program(self.folder / "other", "named")
        self.assertEqual(self.run_module(DTYPECHECK=str(named)).stdout, "named\n")

    def test_program_of_a_source_tree(self):
        tree = self.folder / "tree"
        self.package_in(tree / "python")
        (tree / "cli").mkdir()
        (tree / "cli" / "command_list.inc").touch()
        (tree / "CMakeLists.txt").write_text("project(dtypecheck VERSION 3.2.1 LANGUAGES C CXX)\n")
        self.assert_one_line(self.run_module(), tree / "build/bin/dtypecheck", "cmake --build")
        self.program(tree / "build" / "bin" / "dtypecheck", "built")
        self.assertEqual(self.run_module().stdout, "built\n")

    def test_missing_programs(self):
        none = str(self.folder / "none")
        self.assert_one_line(self.run_module(DTYPECHECK=none, PYTHONPATH=str(PACKAGE.parent)), none, "unset")
        self.assert_one_line(self.run_module(PYTHONPATH=str(self.installed().parent)), "install dtypecheck again")

    def test_version_is_the_programs(self):
        self.environment["PYTHONPATH"] = str(PACKAGE.parent)
        of_package = subprocess.run([sys.executable, "-B", "-c", "import dtypecheck; print(dtypecheck.__version__)"],
                                    env=self.environment, capture_output=True, text=True, check=True).stdout
        of_program = subprocess.run([DTYPECHECK, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(of_program, f"dtypecheck {of_package}")


if __name__ == "__main__":
    unittest.main()
