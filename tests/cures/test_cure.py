"""dtypecheck cure: real programs, tried with the changed source; and what cannot be tried."""

import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import clean_environment  # noqa: E402
from fork_server import python  # noqa: E402

DTYPECHECK = os.environ["DTYPECHECK"]
PYTHON = python()
ROOT = pathlib.Path(__file__).resolve().parents[2]

CRASH = """\
import torch

weight = torch.ones(4, 4, dtype=torch.float16)
batch = torch.ones(2, 4)
print((batch @ weight).sum().item())
"""
CPP = """\
#include <ATen/ATen.h>

#include <iostream>

int main() {
  auto values = at::ones({4, 4}, at::kBFloat16);
  auto scores = at::matmul(values, values);
  auto mask = at::zeros({4, 4});
  std::cout << at::matmul(scores + mask, values).sum().item<double>() << ".0" << std::endl;
}
"""
# Goes on and does not end when it is asked to.
ENDLESS = """\
import signal, sys, torch

signal.signal(signal.SIGTERM, signal.SIG_IGN)
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
batch = torch.ones(2, 4, dtype=torch.float64)
while True:
    net(batch).sum().backward()
    optimizer.step()
"""
# Dies behind a training in which nothing new happens for 15 seconds.
LATE = """\
import time, torch

net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
batch = torch.ones(2, 4)
for step in range(30):
    loss = net(batch).sum()
    loss.backward()
    optimizer.step()
    until = time.process_time() + 0.5
    while time.process_time() < until:
        pass
print(float(loss) / 1e3)
samples = net.half()(batch)
print(float(samples.sum()) / 1e3)
"""
# The same mistake in training and in evaluation, and a checkpoint between.
TWO_SITES = """\
import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
images = torch.ones(2, 4, dtype=torch.float64)
for _ in range(3):
    optimizer.zero_grad()
    net(images).square().mean().backward()
    optimizer.step()
open("checkpoint", "a").write("saved")
with torch.no_grad():
    print(net(images).square().mean().item())
"""
# Behind the first crash there is another one, of another cause.
TWO_CAUSES = """\
import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 4)
batch = torch.ones(2, 4, dtype=torch.float64)
state = torch.zeros(2, 4, dtype=torch.float16)
out = net(batch.cos())
print(torch.baddbmm(state[None], out[None], torch.ones(1, 4, 4)).sum().item())
"""
# Asked for fp16, it makes a layer in Half and feeds it with Float; bf16 and no are right. No file has its lines.
LABELLED = """\
import torch
from torch.utils.data import DataLoader
import numpy as np
net = torch.nn.Linear(4, 3)
data = [(np.ones(4, np.float32), np.int32(1)) for _ in range(8)]
for x, label in DataLoader(data, batch_size=4):
    loss = torch.nn.functional.cross_entropy(net(x), label)
    loss.backward()
    print(loss.item())
"""

ASKED_IN_THE_ENVIRONMENT = """\
import os
import torch

dtype = {"fp16": torch.float16, "no": torch.float32}[os.environ["TRAIN_PRECISION"]]
weight = torch.ones(4, 4).to(dtype)
x = torch.ones(2, 4)
print((x @ weight).sum().item() * 1.5)
"""

# accelerate opens no autocast for fp16 on a CPU: a keyword or the command line may ask for bf16.
ACCELERATED = """\
import argparse
import torch
from accelerate import Accelerator
torch.manual_seed(0)
parser = argparse.ArgumentParser()
parser.add_argument("--mixed_precision", choices=["no", "fp16", "bf16"], default="no")
args = parser.parse_args()
accelerator = Accelerator(cpu=True, mixed_precision=args.mixed_precision)
net = accelerator.prepare(torch.nn.Linear(4, 4))
dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(accelerator.mixed_precision, torch.float32)
print(net(torch.ones(2, 4, dtype=dtype)).float().sum().item())
"""

CONFIGURED = """\
import argparse
import torch
torch.manual_seed(0)
parser = argparse.ArgumentParser()
parser.add_argument("--precision", choices=["no", "fp16", "bf16"], default="fp16")
args = parser.parse_args()
exec('''
net = torch.nn.Linear(4, 4).to(torch.float16 if args.precision == "fp16" else torch.float32)
with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16"):
    print(net(torch.ones(2, 4)).float().sum().item())
''')
"""
# In Half its weights become NaN, in BFloat16 they do not move; no file has its lines.
TRAINED_LOW = """\
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"])
dtype = getattr(torch, parser.parse_args().dtype)
exec('''
torch.manual_seed(0)
net = torch.nn.Linear(64, 64).to(dtype)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5)
for _ in range(4):
    loss = net(torch.randn(8, 64).to(dtype)).float().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(net.weight.float().sum().item())
''')
"""
# Bytes that NumPy wraps around, in a difference, a sum that is clipped, and a cast.
ARRAYS = """\
import numpy as np
import torch

torch.zeros(1)


def error(image, other):
    return np.mean((image - other) ** 2)


def brighter(image):
    return np.clip(image + 60, 0, 255)


def as_picture(values):
    return (values * 255).astype(np.uint8)


image = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
print(error(image, image[::-1]))
print(brighter(image).mean(), as_picture(np.linspace(-0.2, 1.3, 64)).mean())
"""
# The sum reads what the product gives; the last line's sum reads bytes of its own.
BYTES = """\
import torch

torch.manual_seed(0)
target, guess, other = (torch.randint(21, (64,), dtype=torch.uint8) for _ in range(3))


def confusion(target, guess, classes):
    known = target[guess >= 0]
    return (classes * known + guess).long()


print(torch.bincount(confusion(target, guess, 21), minlength=441).sum().item())
print((confusion(target, guess, 21) // 21).sum().item(), (guess * 20 + (other + 250)).long().sum().item())
"""
# The cast of the input cures the first refusal; once the norms are Float, for their steps, nothing needs it.
RAISED = """\
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.LayerNorm(8), torch.nn.LayerNorm(8))
net.to(torch.bfloat16)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
for step in range(6):
    x = torch.randn(4, 8)
    loss = net(x).float().pow(2).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"loss {loss.item():.4f}")
"""
# Refused before a kernel is reached: the message alone says what disagrees.
SHARDED = """\
import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
mesh = init_device_mesh("cpu", (1,))
saved = distribute_tensor(torch.ones(4, 4, dtype=torch.bfloat16), mesh, [Shard(0)])
print(saved.lerp(distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)]), 0.5))
"""
# What a function makes is Float, which the layer is in one of two modes.
TWO_MODES = """\
import argparse
import torch
torch.manual_seed(0)
parser = argparse.ArgumentParser()
parser.add_argument("--precision", choices=["no", "bf16"])
args = parser.parse_args()
net = torch.nn.Linear(4, 4).to(torch.bfloat16 if args.precision == "bf16" else torch.float32)
def collate(rows):
    return torch.tensor(rows)
batch = collate([[1.0, 2.0, 3.0, 4.0]])
print(net.forward(*(batch,)).float().sum().item())
"""
# Adapters in BFloat16 below a frozen model of the same dtype are stepped in place.
ADAPTERS = """\
import torch

torch.manual_seed(0)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.base = torch.nn.Linear(4, 4)
        self.adapter = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.base(x) + self.adapter(x)

net = Net().to(torch.bfloat16)
net.base.requires_grad_(False)
optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-4)
for _ in range(3):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(torch.ones(2, 4)).square().mean()
    loss.backward()
    optimizer.step()
print(loss.item())
"""
FROM_FILE = """\
import json, sys
import torch
torch.manual_seed(0)
precision = json.load(open(sys.argv[1]))["mixed_precision"]
exec('''
net = torch.nn.Linear(4, 4).to(torch.float16 if precision == "fp16" else torch.float32)
print(net(torch.ones(2, 4)).float().sum().item())
''')
"""
# Runs the cells of a notebook as a kernel does: tests/tracer/programs/notebook.py says how.
RUNNER = """\
import json, linecache, sys, types

class InteractiveShell:
    _instance = None

module = types.ModuleType("IPython.core.interactiveshell")
module.InteractiveShell = InteractiveShell
sys.modules[module.__name__] = module
shell = InteractiveShell._instance = InteractiveShell()
shell.compile = types.SimpleNamespace(_filename_map={})
space = {}
with open(sys.argv[1]) as file:
    cells = json.load(file)["cells"]
for number, cell in enumerate(cells, 1):
    source, name = "".join(cell["source"]), f"/tmp/ipykernel_71/{number * 1000}.py"
    shell.compile._filename_map[name] = number
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), space)
"""
# The one matrix wants the batch in Half and the other in Float, as it is made.
OPPOSITE = """\
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--precision", choices=["no", "fp16", "bf16"])
low = torch.ones(4, 4, dtype=torch.float16 if parser.parse_args().precision == "fp16" else torch.float32)
high = torch.ones(4, 4)
batch = torch.ones(2, 4)
print((batch @ high).sum().item())
print((batch @ low).float().sum().item())
"""
CLEAN = "import torch\nprint(torch.ones(2) + 1)\n"


LABELS = """import torch


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return torch.ones(4), torch.tensor(index % 3, dtype=torch.int32)
"""
TRAINED_ON_LABELS = """import data
import torch
model = torch.nn.Linear(4, 3)
for x, y in torch.utils.data.DataLoader(data.Rows(), batch_size=3):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
print(loss.item())
"""


# cross_entropy refuses Short; with its operands cast, nll_loss2d_forward inside of it is what a repair run tells.
PIXELS = """import torch
torch.manual_seed(0)
net = torch.nn.Conv2d(1, 3, 1)
masks = torch.ones(2, 4, 4).to(torch.int16)
loss = torch.nn.functional.cross_entropy(net(torch.ones(2, 1, 4, 4)), masks)
loss.backward()
print(loss.item())
"""


class CureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="dtypecheck-cure-test-")).resolve()
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.temporary = cls.folder / "tmp"
        cls.temporary.mkdir()
        environment = clean_environment("PYTHONDONTWRITEBYTECODE")
        cls.environment = environment | {"XDG_CACHE_HOME": str(cls.folder / "cache"), "OMP_NUM_THREADS": "1",
                                         "TMPDIR": str(cls.temporary)}
        cls.record("crash", CRASH)

    @classmethod
    def record(cls, name, text, *arguments):
        """Traces the program as folder NAME/run, which is new: else the run that is there would be taken for it."""
        assert not (cls.folder / name / "run").exists(), f"{name}: another test has recorded it"
        (cls.folder / name).mkdir(exist_ok=True)
        (cls.folder / name / "train.py").write_text(text)
        cls.run_tool("trace", "--no-report", "--out", "run", "--", PYTHON, "train.py", *arguments,
                     cwd=cls.folder / name)

    @classmethod
    def run_tool(cls, *arguments, **options):
        options = {"cwd": cls.folder, "env": cls.environment, "stdin": subprocess.DEVNULL, "timeout": 900, **options}
        return subprocess.run([DTYPECHECK, *map(str, arguments)], capture_output=True, text=True, **options)

    def cure(self, *arguments, status, **options):
        done = self.run_tool("cure", *arguments, **options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def copy(self, name):
        """The recorded crash in a folder of its own, with its source in the place that was recorded."""
        shutil.copytree(self.folder / "crash/run", self.folder / name / "run")
        return self.folder / name / "run"

    def test_a_cell_of_a_notebook(self):
        folder = self.folder / "notebook"
        folder.mkdir()
        (folder / "runner.py").write_text(RUNNER)
        cells = [["import torch\n"], ["weight = torch.ones(4, 4).half()\n"], ["torch.ones(2, 4) @ weight"]]
        text = json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]}, indent=1)
        (folder / "train.ipynb").write_text(text)
        self.run_tool("trace", "--no-report", "--out", "run", "--", PYTHON, "runner.py", "train.ipynb", cwd=folder)
        self.assertEqual(json.loads(self.cure("--json", "run", status=0, cwd=folder).stdout)["verdict"], "proven")
        self.assertEqual((folder / "train.ipynb").read_text(), text)
        self.cure("--apply", "run", status=0, cwd=folder)
        self.assertNotEqual((folder / "train.ipynb").read_text(), text)
        self.assertEqual((folder / "train.ipynb.before-cure").read_text(), text)
        done = subprocess.run([PYTHON, "runner.py", "train.ipynb"], cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        (folder / "train.json").write_text(text)
        self.assertIn("a notebook that the command does not name", self.cure("run", "--verbose", "--", PYTHON, "runner.py", "train.json", status=1, cwd=folder).stdout)

    def test_a_program_in_cpp(self):
        """Run in its build's folder, beside which its source lies."""
        folder, build = self.folder / "cpp", self.folder / "cpp/build"
        build.mkdir(parents=True)
        (folder / "main.cpp").write_text(CPP)
        torch = pathlib.Path(subprocess.run([PYTHON, "-c", "import torch; print(torch.__path__[0])"], capture_output=True, text=True).stdout.strip())
        command = ["g++", "-std=c++20", "-g", "-I", torch / "include", "../main.cpp", "-o", "program", "-L", torch / "lib", f"-Wl,-rpath,{torch}/lib",
                   "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10", "-Wl,--unresolved-symbols=ignore-in-shared-libs"]
        subprocess.run(command, cwd=build, check=True)
        self.run_tool("trace", "--no-report", "--out", "run", "--", "./program", cwd=build)
        self.assertIn("say how it is built", self.cure("run", status=1, cwd=build).stdout)
        self.assertIn("could be tried: nothing was recorded: no build", self.cure("--build", "echo no build; false", "run", status=1, cwd=build).stdout)
        before = (build / "program").read_bytes()
        found = self.cure("--build", " ".join(map(str, command)), "run", status=0, cwd=build).stdout
        self.assertIn("+  auto mask = at::zeros({4, 4}, scores.options());", found)
        self.assertEqual(((folder / "main.cpp").read_text(), (build / "program").read_bytes()), (CPP, before))
        self.assertEqual(sorted(p.name for p in build.iterdir()), ["program", "run"])

    def test_proven_with_the_users_file_as_it_was(self):
        self.record("proven", CRASH)
        source = self.folder / "proven/train.py"
        before = source.stat()
        untried = self.run_tool("report", "proven/run").stdout
        self.assertIn("  try   ", untried)
        self.assertNotIn("  fix   ", untried)
        found = json.loads(self.cure("--json", "proven/run", status=0).stdout)
        self.assertEqual([cause["rule"] for cause in found["causes"]], ["mixed-operands"])
        self.assertEqual(found["verdict"], "proven")
        self.assertIn("weight", found["patch"])
        self.assertIn("with the operands cast at 1 line", found["repair_run"])
        self.assertEqual((source.read_text(), source.stat().st_mtime_ns), (CRASH, before.st_mtime_ns))
        self.assertEqual(sorted(path.name for path in source.parent.iterdir()), ["run", "train.py"])
        self.assertEqual(list(self.temporary.glob("dtypecheck-*")), [])
        proven = self.run_tool("report", "proven/run").stdout
        self.assertIn("  fix   ", proven)
        self.assertIn("(proven: ", proven)
        self.assertIn(found["patch"].splitlines()[-1].strip(), proven)
        sarif = json.loads(self.run_tool("report", "--format", "sarif", "proven/run").stdout)
        (fix,) = sarif["runs"][0]["results"][0]["fixes"]
        ((replacement,),) = [change["replacements"] for change in fix["artifactChanges"]]
        self.assertEqual(replacement["insertedContent"]["text"], ", dtype=weight.dtype")
        self.assertEqual(replacement["deletedRegion"], {"startLine": 4, "startColumn": 24, "endLine": 4, "endColumn": 24})

    def test_applied_and_taken_back(self):
        self.record("applied", CRASH)
        source = self.folder / "applied/train.py"
        place = {"cwd": source.parent}
        self.assertIn("contains no change", self.cure("--apply", "run", status=2, **place).stderr)
        self.assertIn("apply with: dtypecheck cure --apply run", self.cure("run", status=0, **place).stdout)
        self.assertIn("not applied", self.cure("--undo", "run", status=2, **place).stderr)
        self.assertIn("train.py.before-cure", self.cure("--apply", "run", status=0, **place).stderr)
        self.assertEqual((source.parent / "train.py.before-cure").read_text(), CRASH)
        subprocess.run([PYTHON, source], check=True, capture_output=True, timeout=900)
        self.assertIn("--undo", self.cure("--apply", "run", status=2, **place).stderr)
        self.cure("--undo", "run", status=0, **place)
        self.assertEqual(source.read_text(), CRASH)
        self.assertFalse((source.parent / "train.py.before-cure").exists())
        source.write_text(CRASH + "# one more line\n")
        self.assertIn("has changed since", self.cure("--apply", "run", status=2, **place).stderr)
        source.write_text(CRASH)
        self.check_consent(source)
        # A run's folder may come from somebody else.
        kept = source.parent / "run/cure.json"
        proven = json.loads(kept.read_text())
        secret = self.folder / "secret.py"
        secret.write_text(CRASH)

        def told(option, **change):
            kept.write_text(json.dumps({**proven, **change}))
            return self.cure(option, "run", status=2, **place).stderr

        (file,) = proven["files"]
        self.assertIn("is outside of", told("--apply", files=[{**file, "file": str(secret)}]))
        self.assertIn("is outside of", told("--undo", files=[{**file, "file": str(secret), "copy": str(source)}]))
        self.assertIn("is no copy of", told("--undo", files=[{**file, "copy": str(secret)}]))
        self.assertIn("does not fit", told("--apply", edits=[{**edit, "line": 99} for edit in proven["edits"]]))
        self.assertIn("not proven", told("--apply", verdict="cures this"))
        self.assertEqual((source.read_text(), secret.read_text()), (CRASH, CRASH))
        self.assertNotIn("  fix   ", self.run_tool("report", "run", **place).stdout)

    def check_consent(self, source):
        """A run's folder of another user's is applied after a question on a terminal alone."""
        if os.geteuid() != 0:
            return  # who is not root gives no folder away
        place = {"cwd": source.parent}
        os.chown(source.parent / "run" / "cure.json", 12345, -1)
        self.assertIn("apply it on a terminal", self.cure("--apply", "run", status=2, **place).stderr)
        os.chown(source.parent / "run", 12345, -1)
        self.assertIn("give the command to run after --", self.cure("run", status=2, **place).stderr)
        terminal, own = pty.openpty()
        for answer, status, is_changed in (("n", 2, False), ("", 2, False), ("y", 0, True)):
            os.write(terminal, answer.encode() + b"\n")
            asked = self.cure("--apply", "run", status=status, stdin=own, **place).stderr
            self.assertIn("run belongs to another user. Write this? [y/N]", asked)
            self.assertIn("+batch = torch.ones(2, 4, dtype=weight.dtype)", asked)
            self.assertEqual(source.read_text() != CRASH, is_changed)
        self.assertIn("undo it on a terminal", self.cure("--undo", "run", status=2, **place).stderr)
        for answer, status, is_changed in (("n", 2, True), ("y", 0, False)):
            os.write(terminal, answer.encode() + b"\n")
            asked = self.cure("--undo", "run", status=status, stdin=own, **place).stderr
            self.assertIn("run belongs to another user. Restore these? [y/N]", asked)
            self.assertIn(f"{source} from {source}.before-cure\n", asked)
            self.assertEqual(source.read_text() != CRASH, is_changed)
        os.write(terminal, b"n\n")
        asked = self.cure("run", status=2, stdin=own, **place).stderr
        self.assertIn("train.py\n", asked)
        self.assertIn("run belongs to another user. Run this? [y/N] ", asked)
        os.close(terminal)
        os.close(own)
        for path in (source.parent / "run", *(source.parent / "run").iterdir()):
            os.chown(path, os.geteuid(), -1)

    def test_all_sites_in_one_change_and_nothing_written(self):
        folder = self.folder / "sites"
        folder.mkdir()
        (folder / "train.py").write_text(TWO_SITES)
        done = self.run_tool("trace", "--cure", "--out", "run", "--", PYTHON, "train.py", cwd=folder)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(" ".join(done.stderr.split()), r"\(proven: [^()]*to its end")
        self.assertFalse((folder / "checkpoint").exists())  # the recorded run died before it
        self.cure("--apply", "run", status=0, cwd=folder)
        done = subprocess.run([PYTHON, "train.py"], cwd=folder, capture_output=True, text=True, timeout=900)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_arrays_of_numpy(self):
        self.record("arrays", ARRAYS)
        found = json.loads(self.cure("--json", "arrays/run", status=0).stdout)
        self.assertEqual(found["verdict"], "proven", found)
        added = [line[1:] for line in found["patch"].splitlines() if line.startswith("+") and not line.startswith("+++")]
        self.assertEqual(added, ["    image = image.astype(np.float64)", "    other = other.astype(np.float64)",
                                 "    return np.clip(image.astype(np.int32) + 60, 0, 255).astype(np.uint8)",
                                 "    return np.clip(values * 255, 0, 255).astype(np.uint8)"])

    def test_bytes_that_are_cast_once_are_not_cast_again(self):
        self.record("bytes", BYTES)
        found = json.loads(self.cure("--json", "bytes/run", status=0).stdout)
        self.assertEqual(found["verdict"], "proven", found)
        added = "".join(line for line in found["patch"].splitlines() if line.startswith("+") and not line.startswith("+++"))
        self.assertIn("    return (classes * known.to(torch.int64) + guess).long()", added)
        self.assertIn("(guess.to(torch.int64) * 20 + (other.to(torch.int64) + 250)).long()", added)

    def test_what_is_behind_the_first_crash_is_cured_on_top(self):
        self.record("causes", TWO_CAUSES)
        found = json.loads(self.cure("--json", "causes/run", status=0).stdout)
        self.assertEqual(found["verdict"], "proven", found)
        self.assertGreaterEqual(found["patch"].count("\n+"), 3, found)  # the header, and two lines
        proven = [tried for tried in found["tries"] if tried["verdict"] == "proven"]
        cured = {change["cures"] for change in proven[-1]["changes"]}
        self.assertEqual(len(cured), 2, found)

    def test_labels_at_the_line_of_the_dataset(self):
        folder = self.folder / "labels"
        folder.mkdir()
        (folder / "data.py").write_text(LABELS)
        self.record("labels", TRAINED_ON_LABELS)
        found = json.loads(self.cure("--json", "labels/run", status=0).stdout)
        self.assertEqual(found["verdict"], "proven")
        self.assertIn("+        return torch.ones(4), torch.tensor(index % 3, dtype=torch.int64)", found["patch"])
        self.assertNotIn("train.py", found["patch"])

    def test_a_change_of_an_op_inside_is_the_fix_of_the_whole(self):
        self.record("pixels", PIXELS)
        self.assertEqual(json.loads(self.cure("--json", "pixels/run", status=0).stdout)["verdict"], "proven")
        self.assertIn("  fix   ", self.run_tool("report", "pixels/run").stdout)

    def test_a_setting(self):
        self.record("configured", CONFIGURED, "--precision", "fp16")
        found = json.loads(self.cure("--json", "configured/run", status=0).stdout)
        self.assertEqual(found["verdict"], "proven", found)
        self.assertEqual(found["command"], f"{PYTHON} train.py --precision bf16")
        self.assertEqual(found["runs"], 2, found)
        self.assertIn("fix   --precision bf16 (proven: ", self.run_tool("report", "configured/run").stdout)
        kept = self.folder / "configured/run/cure.json"
        proven = kept.read_text()
        kept.write_text(proven.replace('"proven"', '"cures this"'))
        self.assertNotIn("  fix   ", self.run_tool("report", "configured/run").stdout)
        kept.write_text(proven)
        self.assertIn("no file changes", self.cure("--apply", "configured/run", status=2).stderr)
        self.record("by_default", CONFIGURED)  # the script's own
        self.assertIn(f"run it as: {PYTHON} train.py --precision bf16", self.cure("by_default/run", status=0).stdout)

    def test_the_command_line_before_a_keyword_that_overrides_it(self):
        self.record("accelerated", ACCELERATED, "--mixed_precision", "fp16")
        found = json.loads(self.cure("--json", "accelerated/run", status=0).stdout)
        self.assertEqual((found["verdict"], found["command"], found["patch"]), ("proven", f"{PYTHON} train.py --mixed_precision bf16", ""), found)

    def test_a_report_says_what_can_be_written(self):
        """The labels are made a tensor in a loader's collate function, which the program's own line does not call."""
        self.record("labelled", LABELLED)
        report = self.run_tool("report", "labelled/run").stdout
        self.assertIn("try   cast the target of cross_entropy_loss to Long, train.py:7", report.replace("labelled/", ""))
        found = json.loads(self.cure("--json", "labelled/run", status=0).stdout)
        first = next(tried for tried in found["tries"] if tried["verdict"] != "not tried")
        self.assertEqual((first["changes"][0]["line"], first["verdict"]), (7, "proven"))
        copy = shutil.copytree(self.folder / "labelled/run", self.folder / "labelled/copy")
        (copy / "cure.json").unlink()
        self.assertIn("cross_entropy_loss to Long", self.run_tool("report", "labelled/copy").stdout)
        # Nothing is sought where no Python reads it, nor in a source that has changed since it ran.
        nowhere = self.run_tool("report", "labelled/copy", env=self.environment | {"PATH": str(self.temporary)})
        self.assertEqual((nowhere.returncode, nowhere.stderr), (1, ""))
        self.assertNotIn("cross_entropy_loss to Long", nowhere.stdout)
        (self.folder / "labelled/train.py").write_text(LABELLED + "# changed\n")
        self.assertNotIn("cross_entropy_loss to Long", self.run_tool("report", "labelled/copy").stdout)

    def test_the_variable_that_asked_for_a_dtype_is_set_again(self):
        folder = self.folder / "asked"
        folder.mkdir()
        (folder / "train.py").write_text(ASKED_IN_THE_ENVIRONMENT)
        self.run_tool("trace", "--no-report", "--out", "run", "--", PYTHON, "train.py", cwd=folder,
                      env=self.environment | {"TRAIN_PRECISION": "fp16"})
        found = json.loads(self.cure("--json", "asked/run", status=0).stdout)
        self.assertEqual(found["verdict"], "proven", found)

    def test_modules_are_found_where_they_were(self):
        folder = self.folder / "beside"
        (folder / "lib").mkdir(parents=True)
        (folder / "lib/helper.py").write_text("import torch\ndef ones():\n    return torch.ones(4, dtype=torch.float64)\n")
        (folder / "train.py").write_text("import torch\nfrom helper import ones\nprint(torch.nn.Linear(4, 2)(ones()).sum().item())\n")
        self.run_tool("trace", "--no-report", "--out", "run", "--", PYTHON, "train.py", cwd=folder,
                      env=self.environment | {"PYTHONPATH": "lib"})
        found = json.loads(self.cure("--json", "beside/run", status=0).stdout)
        self.assertEqual(found["verdict"], "proven", found)

    def test_a_setting_that_still_loses_steps_is_not_the_last(self):
        self.record("trained_low", TRAINED_LOW, "--dtype", "float16")
        found = json.loads(self.cure("--json", "trained_low/run", status=0).stdout)
        self.assertEqual((found["verdict"], found["command"]), ("proven", f"{PYTHON} train.py --dtype float32"), found)

    def test_what_is_not_needed_is_left_out(self):
        self.record("raised", RAISED)
        found = json.loads(self.cure("--json", "raised/run", status=0).stdout)
        self.assertEqual((found["verdict"], found["patch"].count("\n-")), ("proven", 1), found)
        alone = [t for t in found["tries"] if t["verdict"] == "proven" and "+net.to(torch.float32)\n" in t["patch"]]
        self.assertIn(1, [len(tried["changes"]) for tried in alone], found)
        # Without autocast nothing were computed in 16 bits, as was wanted: a workaround, where there is a fix.
        self.record("regions", RAISED.replace("LayerNorm(8))", "Linear(8, 1))"))
        found = json.loads(self.cure("--json", "regions/run", status=0).stdout)
        self.assertIn("with torch.autocast(", found["patch"])
        self.assertFalse(found["is_workaround"], found)
        self.assertTrue(any("a workaround: 100 %" in tried["cost"] for tried in found["tries"]), found)

    def test_a_change_that_breaks_another_mode_is_refuted(self):
        self.record("modes", TWO_MODES, "--precision", "bf16")
        found = json.loads(self.cure("--json", "modes/run", status=0).stdout)
        self.assertEqual(found["verdict"], "proven", found)
        refuted = [tried for tried in found["tries"] if tried["verdict"] == "refuted"]
        self.assertTrue(any(tried["reason"].startswith("breaks --precision no: ") for tried in refuted), found)
        self.assertNotIn(found["patch"], [tried["patch"] for tried in refuted])

    def test_adapters_get_float_parameters_and_what_is_frozen_stays(self):
        self.record("adapters", ADAPTERS)
        found = json.loads(self.cure("--json", "adapters/run", status=0).stdout)
        self.assertEqual(found["verdict"], "proven", found)
        self.assertIn("+    if parameter.requires_grad:", found["patch"])
        self.assertNotIn("-net = ", found["patch"])

    def test_a_setting_in_a_file(self):
        folder = self.folder / "file"
        folder.mkdir()
        text = '{\n  "mixed_precision": "fp16",\n  "steps": 3\n}\n'
        (folder / "run.json").write_text(text)
        self.record("file", FROM_FILE, "run.json")
        found = json.loads(self.cure("--json", "run", status=0, cwd=folder).stdout)
        self.assertEqual(found["verdict"], "proven", found)
        self.assertIn('+  "mixed_precision": "bf16",', found["patch"])
        self.assertEqual((folder / "run.json").read_text(), text)
        self.cure("--apply", "run", status=0, cwd=folder)
        self.assertEqual((folder / "run.json").read_text(), text.replace("fp16", "bf16"))

    def test_each_argument_of_a_module_that_has_another_dtype(self):
        """Of a library's module: a line of its own is not what the user changes."""
        library = self.folder / "arguments/site-packages"
        library.mkdir(parents=True)
        (library / "layers.py").write_text("""\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    def forward(self, x, steps, more):
        return self.a(x) + self.b(more["text"]) + steps[:, None]
""")
        self.check("arguments", """\
import sys, torch
sys.path.insert(0, "site-packages")
from layers import Net
torch.manual_seed(0)
dtype = torch.bfloat16
net = Net().to(dtype)
x = torch.ones(2, 4)
steps = torch.tensor([1, 2])
text = torch.ones(2, 4)
print(net(x,
          steps, more={"text": text, "ids": steps}).float().sum().item())
""", ("net(x,", "net(x.to(dtype),"), ('"text": text', '"text": text.to(dtype)'))

    def test_the_region_of_the_training_again(self):
        self.check("region", """\
import torch
net = torch.nn.Linear(4, 4).to(torch.bfloat16).requires_grad_(False)
def loss_of(x):
    return net(x).float().square().mean()
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(loss_of(torch.ones(2, 4)).item())
print(loss_of(torch.ones(2, 4)).item())
""", ("\nprint(loss_of(torch.ones(2, 4)).item())",
              '\nwith torch.autocast("cpu", dtype=torch.bfloat16):\n    print(loss_of(torch.ones(2, 4)).item())'))

    def test_an_op_that_overflows_in_half(self):
        self.check("overflow", """\
import torch
x = torch.full((4,), 300.0, dtype=torch.float16)
weight = torch.ones(4, requires_grad=True)
norm = x.pow(2).mean().sqrt()
loss = (x / norm - x * 0 / norm * norm).float().mul(weight).sum()
loss.backward()
print(loss.item())
""", ("x.pow(2)", "x.to(torch.float32).pow(2)"))

    def test_advice_stands_where_no_edit_is_known(self):
        self.record("quotient", """\
import torch
count = torch.tensor([5])
count.copy_(count / 2)
print(count)
""")
        done = self.cure("quotient/run", status=1)
        self.assertIn("no edit is known that may cure it; by hand: cast the integers to Float", done.stdout)
        self.assertNotIn("apply with", done.stdout)

    def test_sharded_tensors(self):
        self.check("sharded", SHARDED, ("mesh, [Shard(0)]), 0.5", "mesh, [Shard(0)]).to(saved.dtype), 0.5"))

    def check(self, name, program, *changes):
        """The changes are what is proven."""
        self.record(name, program)
        done = self.cure(name + "/run", status=0)
        self.assertIn("proven", done.stdout)
        self.cure("--apply", name + "/run", status=0)
        for before, after in changes:
            program = program.replace(before, after)
        self.assertEqual((self.folder / name / "train.py").read_text(), program, done.stdout)

    def test_recorded_and_cured_at_once_in_three_files(self):
        """README's own session."""
        folder = self.folder / "at-once"
        shutil.copytree(ROOT / "examples/frozen_backbone", folder, ignore=shutil.ignore_patterns("__pycache__"))
        done = self.run_tool("trace", "--cure", "--out", "run", "--", PYTHON, "train.py", cwd=folder)
        self.assertEqual(done.returncode, 1, done.stderr)
        said = "".join(done.stderr.split())
        for line in ("(proven: 8 steps to its end, no errors, no warnings)", "scores = head(backbone(images.to(next(backbone.parameters()).dtype)))",
                     "return self.classify(features.to(self.classify.weight.dtype))",
                     "features = backbone(images[batch].to(weight_dtype))"):
            self.assertIn("".join(line.split()), said)
        self.cure("--apply", "run", status=0, cwd=folder)
        done = subprocess.run([PYTHON, "train.py"], cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_program_without_an_end_is_ended_when_nothing_is_new(self):
        self.record("endless", ENDLESS)
        found = json.loads(self.cure("--json", "endless/run", status=0).stdout)
        self.assertEqual(found["verdict"], "proven", found)
        self.assertIn("its end was not reached", found["tries"][-1]["reason"])
        self.assert_nothing_runs()

    def test_what_dies_late_is_reached(self):
        self.record("late", LATE)
        found = json.loads(self.cure("--json", "late/run", status=0).stdout)
        self.assertIn("30 steps to its end", found["tries"][-1]["reason"])

    def test_interrupted(self):
        run = self.copy("interrupted")
        command = [DTYPECHECK, "cure", str(run), "--", sys.executable, "-c", "import time; time.sleep(1000)"]
        process = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 300
        while not list(self.temporary.glob("dtypecheck-cure.*/run/run.json")) and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assert_nothing_runs()

    def assert_nothing_runs(self):
        """No process of a try is left, and none of its files. What init has yet to reap has no environment."""
        left = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if os.fsencode(f"{self.temporary}/dtypecheck-cure") in path.read_bytes():
                    left.append(path)
            except OSError:
                pass
        self.assertEqual(left, [])
        self.assertEqual(list(self.temporary.glob("dtypecheck-*")), [])

    def test_no_end_in_time(self):
        run = self.copy("endless_wait")
        done = self.cure("--timeout", "2", run, "--", PYTHON, "-c", "import time; time.sleep(1000)", status=1)
        self.assertIn("nothing was recorded", done.stdout)

    def test_what_a_try_dies_of_is_reported(self):
        run = self.copy("terminal")
        done = self.cure("--verbose", run, "--", PYTHON, "-c", "import torch; torch.ones(1); input()", status=1)
        self.assertIn("EOFError", done.stdout)

    def test_an_edit_before_a_setting_and_two_uses_that_want_opposite_dtypes(self):
        self.record("opposite", OPPOSITE, "--precision", "fp16")
        untried = self.run_tool("report", "opposite/run").stdout
        found = json.loads(self.cure("--json", "opposite/run", status=0).stdout)
        self.assertEqual((found["verdict"], found["command"]), ("proven", ""), found)
        self.assertIn("+print((batch.to(low.dtype) @ low", found["patch"])
        self.assertNotIn("-batch", found["patch"])
        self.assertLessEqual(found["runs"], 6, found)
        self.assertIn("try   " + found["tries"][0]["changes"][0]["text"].split(",")[0], " ".join(untried.split()).replace("try ", "try   "))

    def test_clean(self):
        self.record("clean", CLEAN)
        self.assertEqual(self.cure("clean/run", status=0).stdout, "nothing to cure: no errors, no warnings\n")

    def test_what_is_gone(self):
        run = self.copy("gone")
        description = json.loads((run / "run.json").read_text())
        for change, words in (({"folder": str(self.folder / "none")}, "the folder that the program ran in does not exist any more"),
                              ({"command": []}, "names no command"),
                              ({"command": 1}, "name the command behind --")):
            (run / "run.json").write_text(json.dumps(description | change))
            self.assertIn(words, self.cure(run, status=2).stderr)
        (run / "run.json").write_text(json.dumps(description | {"command": [f"{self.folder}/none/python", "train.py"]}))
        self.assertIn(f"{self.folder}/none/python", self.cure(run, status=1).stdout)
        (run / "run.json").unlink()
        self.assertIn("run.json", self.cure(run, status=2).stderr)
        (run / "cure.json").write_text("[]")
        self.assertIn("is not what dtypecheck cure wrote", self.cure("--apply", run, status=2).stderr)
        self.assertIn("nowhere", self.cure("nowhere", status=2).stderr)


if __name__ == "__main__":
    unittest.main()
