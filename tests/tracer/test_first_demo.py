"""dtypecheck demo where torch is all that is there: the mistake is found, and its cure has no finding."""

import shutil
import sys
import unittest

from traced import DTYPECHECK, TracedTest


class FirstDemo(TracedTest):
    def program(self):
        """The program as a wheel has it: without sdxl-train beside it."""
        prefix = self.folder / "prefix"
        if (prefix / "bin/dtypecheck").exists():
            return prefix / "bin/dtypecheck"
        prefix.mkdir()
        built = DTYPECHECK.rpartition("/bin/")[0]
        for part in ("lib", "libexec"):
            (prefix / part).symlink_to(f"{built}/{part}")
        (prefix / "bin").mkdir()
        program = prefix / "bin/dtypecheck"
        shutil.copy2(DTYPECHECK, program)
        return program

    def test_broken_and_cured(self):
        done = self.execute([self.program(), "demo", "--python", sys.executable, "--out", self.folder / "demo"])
        self.assertEqual((done.status, done.err), (0, ""), done.said)
        broken, cured = done.out.split("2. The mask")
        self.assertIn("mat1 and mat2 must have the same dtype", broken)
        self.assertIn("train.py:30", broken)
        self.assertIn("[mixed-operands]", broken)
        self.assertIn("findings: none", cured)
        self.assertTrue((self.folder / "demo/broken/run.json").exists())

    def test_python_without_torch(self):
        done = self.execute([self.program(), "demo", "--python", self.bare_python()])
        self.assertEqual((done.status, done.out), (2, ""))
        self.assertIn("has no torch", done.said)
        self.assertIn("--python", done.said)

    def bare_python(self):
        script = self.folder / "bare-python"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
        script.chmod(0o755)
        return script


if __name__ == "__main__":
    unittest.main()
