"""dtypecheck probe: what stops it, said in a line; and a small measurement where there is a torch for it."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import tool  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROBE = SOURCE / "rules/contracts/probe"
TORCH = pathlib.Path(os.environ.get("DTYPECHECK_TORCH_PYTHON", SOURCE / ".venv/bin/python"))

# Stands for a torch of another version: measure.py stops before it asks for more of it.
OLD_TORCH = "__version__ = '1.10.0'\n"


class Probe(tool.ToolTest):
    def python_with(self, modules):
        """An interpreter whose own modules come first."""
        for name, text in modules.items():
            self.write(f"modules/{name}", text)
        text = f"#!/bin/sh\nPYTHONPATH='{self.work}/modules' exec '{sys.executable}' \"$@\"\n"
        return self.write("python", text, 0o755)

    def test_no_torch(self):
        python = self.python_with({"torch.py": "raise ImportError('No module named torch')\n"})
        result = self.run_tool("probe", "--python", python, "-o", "a.contracts")
        self.assert_one_line(result, "no torch can be imported", "--python")
        self.assertEqual(list(self.work.glob("a.contracts*")), [])

    def test_a_torch_that_is_too_old(self):
        python = self.python_with({"torch/__init__.py": OLD_TORCH, "torch/utils/__init__.py": ""})
        result = self.run_tool("probe", "--python", python, "-o", "a.contracts")
        self.assert_one_line(result, "torch 1.10.0 is too old", "1.13")

    def test_no_such_python(self):
        self.assert_one_line(self.run_tool("probe", "--python", "no/such", "-o", "a"), "no/such")

    def test_something_else_than_python(self):
        result = self.run_tool("probe", "--python", "/bin/false", "-o", "a.contracts")
        self.assert_one_line(result, "/bin/false: ended with status 1", "Python 3.8")

    def test_no_file(self):
        self.assertEqual(self.run_tool("probe").status, 2)


@unittest.skipUnless(TORCH.exists(), f"{TORCH}: no torch to measure")
class Measurement(tool.ToolTest):
    def test_a_file_that_cannot_be_written(self):
        (self.work / "folder").mkdir()
        for path in ("no/such/folder/a.contracts", "folder"):
            result = self.run_tool("probe", "--python", TORCH, "-o", path)
            self.assertEqual(result.status, 2)
            self.assertIn(f"{path}: cannot be written", result.err)

    def test_a_device_that_a_child_cannot_use(self):
        # The parent is told that there is one; the children ask for it themselves.
        self.write("modules/sitecustomize.py", "import os, sys\nif '-c' in sys.orig_argv: print('True'); os._exit(0)\n")
        self.environment |= {"PYTHONPATH": str(self.work / "modules"), "CUDA_VISIBLE_DEVICES": ""}
        done = subprocess.run([TORCH, PROBE / "measure.py", "-o", "a.contracts", "--device", "cuda", "--only", "hand"],
                              cwd=self.work, env=os.environ | self.environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("a child process cannot use cuda", done.stderr)
        self.assertEqual(list(self.work.glob("a.contracts*")), [])

    def test_no_such_device(self):
        self.environment["CUDA_VISIBLE_DEVICES"] = ""
        result = self.run_tool("probe", "--python", TORCH, "--device", "cuda", "-o", "a.contracts")
        self.assertEqual(result.status, 2)
        self.assertIn("finds no CUDA device", result.err)

    def test_calls_are_repeated_on_the_device(self):
        """On "meta", which every torch has, and where a product asks nothing of its dtypes."""
        done = subprocess.run([TORCH, "-B", self.write("measure_meta.py", ON_META)], text=True,
                              capture_output=True, timeout=tool.PATIENCE_S * 10)
        self.assertEqual(done.stdout.splitlines()[-1:], ["cpu 4 of 16 taken, meta 16 of 16"],
                         done.stderr[-2000:])

    def test_a_gpu_that_is_not_there(self):
        python = self.write("python", f"#!/bin/sh\nexec '{TORCH}' \"$@\" --only nn.functional.layer_norm\n", 0o755)
        result = self.run_tool("probe", "--python", python, "--device", "cuda:sm_90", "-o", "a.contracts")
        self.assertEqual(result.status, 0, result.err)
        table = (self.work / "a.contracts").read_text()
        self.assertIn("capability=sm_90 gpu=pretended", table)
        self.assertIn("expected scalar type {S0} but found {S1}", table)  # a CPU takes a norm in Float
        self.assertRegex(result.err, r"contracts of cuda:\S+ are in a.contracts")

    def test_ops_that_die_or_hang_cost_only_themselves(self):
        script = self.write("measure_bad.py", BAD_OPS)
        environment = dict(self.environment, PYTHONPATH=f"{PROBE}")
        run = subprocess.run([TORCH, "-B", script], env=environment, cwd=self.work, timeout=900,
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.split("\n")[:5],
                         ["ops aten::neg", "lost aten::cos self first: ended with status -6",
                          "lost aten::cos self others: ended with status -6",
                          "lost aten::sin self first: took more than 15 s",
                          "lost aten::sin self others: took more than 15 s"])


# Two ops of a task are made to die and to hang; the third is measured all the same.
ON_META = f"""
import argparse, sys
sys.path.insert(0, {str(PROBE)!r})
import measure, replay, torch

def product(recorder):
    with recorder:
        torch.mm(torch.ones(2, 3), torch.ones(3, 2))

told = []
for replay.DEVICE in "cpu", "meta":
    found = measure.Measurement([("product", product)], argparse.Namespace(only="", jobs=1, op_limit=60.0))
    found.run()
    outcomes = found.rows["aten::mm", "self,mat2", "first"]["plain"].values()
    taken = sum(isinstance(outcome, str) for outcome in outcomes)
    told.append(f"{{replay.DEVICE}} {{taken}} of {{len(outcomes)}}")
print(told[0] + " taken, " + told[1])
"""

BAD_OPS = """
import argparse, os, sys, time
import torch
import measure, record, replay

def bad(r):
    for name in ("sin", "cos", "neg"):
        record.add_composite(r, name, [torch.ones(2)], {})

real = replay.measure
def measured(call, *rest, **more):
    if call.op_name == "aten::cos":
        os.abort()
    if call.op_name == "aten::sin":
        time.sleep(600)
    return real(call, *rest, **more)

replay.measure = measured
found = measure.Measurement([("bad", bad)], argparse.Namespace(only="", jobs=1, op_limit=15.0))
found.run()
print("ops", *sorted({op for op, *_ in found.rows}))
for note in sorted(found.notes):
    print("lost", note.split(": ", 1)[1])
"""

if __name__ == "__main__":
    unittest.main()
