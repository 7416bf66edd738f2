"""A LibTorch that nothing was built ahead for: the tracer is compiled for it once, and says what the prebuilt one says.

Each version's wheel is installed once, into a virtual environment below $DTYPECHECK_TEST_CACHE: gigabytes, and minutes.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from traced import PROGRAMS, TracedTest, line_of

CACHE = pathlib.Path(os.environ.get("DTYPECHECK_TEST_CACHE") or tempfile.gettempdir())


def python_with(version):
    """The Python of an environment with this torch; None, and why, when it cannot be had."""
    folder = CACHE / f"libtorch-{version}"
    python = folder / "bin/python"
    works = [python, "-c", f"import torch; assert torch.__version__.split('+')[0] == '{version}'"]
    if python.exists() and subprocess.run(works, capture_output=True).returncode == 0:
        return python, ""
    for command in ([sys.executable, "-m", "venv", "--clear", folder],
                    [python, "-m", "pip", "install", "--quiet", f"torch=={version}", "numpy<2"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stderr.strip().splitlines()[-1]
    return python, ""


class OtherLibTorch:
    """What holds for each version."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.python, why_not = python_with(cls.version)
        if cls.python is None:
            raise unittest.SkipTest(f"torch=={cls.version} cannot be installed for {sys.executable}: {why_not}")
        command = [cls.python, PROGRAMS / "other.py"]
        cls.untraced = cls.execute(command)
        cls.first = cls.traced_command(command)
        cls.second = cls.traced_command(command)
        steady = [cls.python, PROGRAMS / "steady.py"]
        cls.untraced_steady = cls.execute(steady)
        cls.steady = cls.traced_command(steady, options=["--steady"])
        cls.kept_going = cls.traced_command([cls.python, PROGRAMS / "other_kept_going.py"],
                                            options=["--keep-going"])

    def call(self, name, **wanted):
        return self.second.run.calls(line=line_of("other.py", name), **wanted)

    def test_compiled_once(self):
        self.assertIn(f"compiling the tracer for LibTorch {self.version}, once", self.first.said)
        self.assertNotIn("compiling", self.second.said)
        self.assertEqual(self.first.run.others + self.second.run.others, [])

    def test_exports_its_entries_alone(self):
        """As the prebuilt one: with its names visible, another library's could take their place."""
        (hook,) = (self.folder / "cache").rglob("*.so")
        symbols = subprocess.run(["nm", "-D", "--defined-only", hook], capture_output=True,
                                 text=True, check=True).stdout
        strong = {line.split()[2] for line in symbols.splitlines() if line.split()[1] in "TDBR"}
        self.assertIn("dtypecheck_hook_start", strong)
        self.assertEqual([name for name in strong if not name.startswith("dtypecheck_hook_")], [])

    def test_nothing_changed(self):
        for done in (self.first, self.second):
            self.assertEqual((done.status, done.out, done.err),
                             (0, self.untraced.out, self.untraced.err))
        self.assertEqual((self.steady.status, self.steady.out), (0, self.untraced_steady.out))

    def test_process(self):
        (process,) = self.second.run.processes.values()
        self.assertEqual((process["libtorch"], process["steps"], process["end"]),
                         (self.version, 3, "exited"))
        self.assertTrue(process["complete"])

    def test_both_runs_recorded_the_same(self):
        def signatures(done):
            return [(c["op"], c["phase"], c["count"], [o.get("dtype") for o in c["operands"]])
                    for c in done.run.calls()]

        self.assertEqual(signatures(self.first), signatures(self.second))

    def test_sites(self):
        (linear, *_) = self.call("forward", op="aten::linear")
        self.assertEqual((linear["module"], linear["module_class"]), ("net.0.proj", "Linear"))
        self.assertEqual(linear["operands"][1]["parameter"], "net.0.proj.weight")
        self.assertEqual(linear["autocast_call"], "wrapper")
        self.assertEqual(linear["autocast"], {"cpu": "BFloat16"})
        backward = self.call("forward", phase="backward")
        self.assertIn("aten::native_layer_norm_backward", {call["op"] for call in backward})
        self.assertEqual({call["phase"] for call in self.call("step", op="aten::addcdiv_")},
                         {"optimizer"})

    def test_refusal_is_found(self):
        findings = [f for f in self.second.run.findings("mixed-operands")
                    if f["location"]["line"] == line_of("other.py", "mixed")]
        (finding,) = findings
        self.assertEqual(finding["op"], "aten::addmm")
        self.assertIn("dtype", finding["error"])

    def test_steady(self):
        """The step of the refusal was not traced: what is known of it comes from the stack."""
        (process,) = self.steady.run.processes.values()
        self.assertEqual(process["steps"], 300)
        self.assertLess(process["steps_traced"], 60)
        (refusal,) = self.steady.run.calls(outcome="threw")
        self.assertEqual((refusal["op"], refusal["module"], refusal["step"]),
                         ("aten::linear", "model.0", 251))
        self.assertEqual(refusal["line"], line_of("steady.py", "mixed"))
        self.assertIn("mat1 and mat2 must have the same dtype", refusal["error"])
        dtypes = {operand["name"]: operand["dtype"] for operand in refusal["operands"]}
        self.assertEqual((dtypes["input"], dtypes["weight"]), ("Double", "Float"))

    def test_keep_going(self):
        """One run tells all mismatches, each once, at its line, and gets to its end."""
        done = self.kept_going
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertEqual(done.out.splitlines(),
                         ["loss True"] * 3 + ["bmm [[[2.0, 2.0], [2.0, 2.0]]]"])
        repaired = [f for f in done.run.findings() if f["outcome"] == "repaired"]
        mixes = {f["id"] for f in repaired}
        causes = {f["location"]["line"]: f["count"] for f in repaired if f["follows"] not in mixes
                  and f["location"]["phase"] == "forward"}
        lines = {name: line_of("other_kept_going.py", name) for name in ("conv", "out", "bmm")}
        self.assertEqual(causes, {lines["conv"]: 3, lines["bmm"]: 1}, done.run.text())
        (consequence,) = [f for f in repaired if f["location"]["line"] == lines["out"]]
        self.assertIn(consequence["follows"], mixes)
        self.assertFalse(done.run.report["results_valid"])


class LibTorch1_13(OtherLibTorch, TracedTest):
    version = "1.13.1"

    def test_half_norm_has_no_kernel(self):
        findings = [f for f in self.second.run.findings()
                    if f["location"]["line"] == line_of("other.py", "half norm")]
        (finding,) = findings
        # The program catches it.
        self.assertEqual((finding["rule"], finding["severity"]), ("cpu-half-norm", "note"))
        self.assertEqual(finding["error"], "\"LayerNormKernelImpl\" not implemented for 'Half'")


class LibTorch2_6(OtherLibTorch, TracedTest):
    version = "2.6.0"


if __name__ == "__main__":
    unittest.main()
