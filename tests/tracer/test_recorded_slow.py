"""The same of what takes longer: torch.compile, a time line that is full, and frameworks, which are installed from PyPI below
$DTYPECHECK_TEST_CACHE, beside the torch that is there."""

import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import unittest

from recorded import RecordedTest
from traced import PROGRAMS

CACHE = pathlib.Path(os.environ.get("DTYPECHECK_TEST_CACHE") or tempfile.gettempdir())
COMPILED = """
import torch
norm = torch.compile(torch.nn.LayerNorm(8).bfloat16())
norm(torch.randn(2, 8, dtype=torch.bfloat16)).sum().backward()
"""
MANY_OPS = """
import torch
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters())
for _ in range(2):
    model(torch.ones(1, 1)).sum().backward()
    optimizer.step()
x = torch.ones(1)
for _ in range(1 << 20):
    x.neg_()
"""


def python_with(*packages):
    """A Python that has these packages, and what this one has; the test is skipped where they cannot be had."""
    folder = CACHE / packages[0]
    python = folder / "bin" / "python"
    environment = os.environ | {"DS_BUILD_OPS": "0", "DS_ACCELERATOR": "cpu"}
    works = [python, "-c", f"import {packages[0]}"]
    if python.exists() and subprocess.run(works, capture_output=True, env=environment).returncode == 0:
        return python
    pip = [python, "-m", "pip", "install", "--quiet"]
    beside = "import pathlib, sysconfig; pathlib.Path(sysconfig.get_paths()['purelib'], 'beside.pth').write_text({!r})"
    for command in ([sys.executable, "-m", "venv", "--clear", folder], [*pip, "setuptools", "wheel"],
                    [python, "-c", beside.format(sysconfig.get_paths()["purelib"])],
                    [*pip, "--no-deps", "--no-build-isolation", *packages], works):
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise unittest.SkipTest(f"{packages[0]} cannot be had: {done.stderr.strip().splitlines()[-1]}")
    return python


class Recorded(RecordedTest):
    def test_compiled(self):
        processes = self.hold("compiled", self.traced_command([self.interpreter, "-c", COMPILED]))
        self.assertTrue(any("aten::" in value for facts in processes for key, value in facts.items() if key.startswith("compiled.")))

    def test_a_full_time_line(self):
        self.hold("timeline", self.traced_command([self.interpreter, "-c", MANY_OPS], ["--timeline", "9"]))

    def test_lightning(self):
        python = python_with("lightning", "pytorch-lightning", "lightning-utilities", "torchmetrics")
        done = self.traced_command([python, PROGRAMS / "lightning_trained.py"])
        (facts,) = self.hold("half", done)
        asked = [value for key, value in facts.items() if key.startswith("asked BFloat16 ")]
        self.assertTrue(any("precision=bf16-true" in value for value in asked), asked)
        self.assertEqual(facts["optimizer"], "AdamW")


class DeepSpeed(RecordedTest):
    """It lowers the model itself: that autocast never opened says nothing, whether accelerate keeps the precision or not."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.python = python_with("deepspeed", "hjson", "py-cpuinfo", "ninja", "einops", "msgpack")
        cls.environment |= {"DS_ACCELERATOR": "cpu", "PATH": f"{cls.python.parent}:{os.environ['PATH']}",
                            "TORCH_EXTENSIONS_DIR": str(CACHE / "torch_extensions")}

    def check(self, command, *options, precision, rules):
        done = self.traced_command(command, options)
        processes = self.hold("accelerate", done)
        facts = next(facts for facts in processes if "accelerate.distributed_type" in facts)
        self.assertEqual((facts["accelerate.mixed_precision"], facts["accelerate.distributed_type"]), (precision, "DEEPSPEED"))
        found = {finding["rule"] for finding in done.run.report["findings"]}
        self.assertEqual(found & {"outside-autocast", "mixed-operands"}, rules)

    def test_launched(self):
        launcher = [self.python, "-m", "accelerate.commands.launch", "--use_deepspeed", "--zero_stage", "1", "--num_processes", "1",
                    "--num_machines", "1", "--mixed_precision", "bf16", "--dynamo_backend", "no"]
        program = PROGRAMS / "deepspeed_trained.py"
        self.check([*launcher, program], precision="no", rules=set())
        self.check([*launcher, program, "mixed"], "--keep-going", precision="no", rules={"mixed-operands"})

    def test_by_mpi(self):
        self.check([self.python, PROGRAMS / "deepspeed_trained.py", "mpi"], precision="bf16", rules=set())


if __name__ == "__main__":
    unittest.main()
