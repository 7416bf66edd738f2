"""No tracer for this LibTorch can be had: one line says why, and the program runs as if nothing were."""

import shutil
import sys
import unittest

from traced import DTYPECHECK, PROGRAMS, TracedTest


class NoTracer(TracedTest):
    @classmethod
    def setUpClass(cls):
        """An install that was built ahead for no LibTorch, and no compiler."""
        super().setUpClass()
        prefix = cls.folder / "prefix"
        for part in ("bin/dtypecheck", "lib/libdtypecheck_preload.so"):
            (prefix / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(cls.built(part), prefix / part)
        cls.program = prefix / "bin/dtypecheck"
        cls.nothing = cls.folder / "nothing"
        cls.nothing.mkdir()
        cls.untraced = cls.plain("other.py")

    @staticmethod
    def built(part):
        return DTYPECHECK.rpartition("/bin/")[0] + "/" + part

    def run_without_compiler(self, *options):
        environment = {k: v for k, v in self.environment.items()
                       if k not in ("CXX", "CC")} | {"PATH": str(self.nothing)}
        return self.execute([self.program, "trace", *options, "--", sys.executable,
                             PROGRAMS / "other.py"], env=environment)

    def test_no_compiler(self):
        done = self.run_without_compiler()
        self.assertEqual((done.status, done.out, done.err),
                         (0, self.untraced.out, self.untraced.err))
        first, *_ = done.said.splitlines()
        self.assertTrue(first.startswith("dtypecheck: no C++ compiler"), done.said)
        self.assertIn("apt-get install g++", first)
        self.assertIn("runs on untraced", first)
        before_the_end = done.said.partition("nothing was recorded")[0]
        self.assertEqual(before_the_end.count("no C++ compiler"), 2, done.said)  # at once, and at the end
        self.assertIn("nothing was recorded", done.said)

    def test_no_compiler_and_a_result_was_asked_for(self):
        done = self.run_without_compiler("--fail-on", "error")
        self.assertEqual((done.status, done.out), (2, self.untraced.out))

    def test_damaged_tracer(self):
        first = self.traced("other.py")
        self.assertEqual(len(first.run.processes), 1)
        (hook,) = (self.folder / "cache").rglob("*.so")
        hook.unlink()
        hook.write_bytes(b"\x7fELF and then nothing of the kind")
        done = self.traced("other.py")
        self.assertEqual((done.status, done.out, done.err),
                         (0, self.untraced.out, self.untraced.err))
        self.assertIn("the tracer could not be loaded", done.said)
        self.assertEqual(done.run.processes, {})


if __name__ == "__main__":
    unittest.main()
