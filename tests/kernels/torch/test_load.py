"""Where the library comes from, and the one line where there is none."""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest


def imported(**environment):
    program = "from dtypecheck import kernels\nprint(kernels.linear)"
    return subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True,
                          check=False)


class Load(unittest.TestCase):
    def fails(self, **environment):
        done = imported(**environment)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr.strip().splitlines()[-1]

    def test_twice_is_once(self):
        program = "import torch\nfrom dtypecheck import kernels\nimport importlib\nimportlib.reload(kernels)\nprint('ok')"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "ok\n")

    def test_without_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn(f"ImportError: dtypecheck.kernels: {folder}/dtypecheck: is no program",
                          self.fails(DTYPECHECK=f"{folder}/dtypecheck"))

    def test_without_a_library_and_a_compiler_the_program_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            tool = pathlib.Path(folder) / "dtypecheck"
            tool.write_text("#!/bin/sh\necho 'dtypecheck: no C++ compiler for c++20 was found' >&2\nexit 2\n")
            tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
            self.assertEqual(self.fails(DTYPECHECK=str(tool)),
                             "ImportError: dtypecheck.kernels: no C++ compiler for c++20 was found")


if __name__ == "__main__":
    unittest.main()
