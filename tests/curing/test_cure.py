"""dtypecheck cure: real programs, tried with the changed source; and what cannot be tried."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import clean_environment  # noqa: E402

DTYPECHECK = os.environ["DTYPECHECK"]

CRASH = """\
import torch

weight = torch.ones(4, 4, dtype=torch.float16)
batch = torch.ones(2, 4)
print((batch @ weight).sum().item())
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
# Behind the crash an optimizer steps BFloat16 parameters, which the recorded run did not live to do.
WARNS_BEHIND = """\
import torch

net = torch.nn.Linear(4, 4, dtype=torch.bfloat16)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
batch = torch.ones(2, 4, dtype=torch.bfloat16)
target = torch.ones(2, 4)
for _ in range(2):
    loss = torch.baddbmm(target[None], net(batch)[None], torch.ones(1, 4, 4, dtype=torch.bfloat16)).mean()
    loss.backward()
    optimizer.step()
"""
# A library loads the model in the dtype that it is given.
LIBRARY = """\
import torch

def load(name, torch_dtype):
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)).to(torch_dtype)
"""
LOADED = """\
import sys, torch

sys.path.insert(0, "site-packages")
from library import load

half = torch.float16
net = load("net", torch_dtype=half)
net(torch.ones(2, 4))
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
CLEAN = "import torch\nprint(torch.ones(2) + 1)\n"


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
    def record(cls, name, text):
        """Traces the program as folder NAME/run."""
        (cls.folder / name).mkdir(exist_ok=True)
        (cls.folder / name / "train.py").write_text(text)
        cls.run_tool("trace", "--no-report", "--out", "run", "--", sys.executable, "train.py", cwd=cls.folder / name)

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
        self.run_tool("trace", "--no-report", "--out", "run", "--", sys.executable, "runner.py", "train.ipynb", cwd=folder)
        (cause,) = json.loads(self.cure("--json", "run", status=0, cwd=folder).stdout)["causes"]
        proven = next(cure for cure in cause["cures"] if cure["verdict"] == "proven")
        self.assertEqual((folder / "train.ipynb").read_text(), text)
        self.cure("--apply", str(proven["number"]), "run", status=0, cwd=folder)
        self.assertNotEqual((folder / "train.ipynb").read_text(), text)
        self.assertEqual((folder / "train.ipynb.before-cure").read_text(), text)
        done = subprocess.run([sys.executable, "runner.py", "train.ipynb"], cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("names no notebook", self.cure("run", "--", sys.executable, "runner.py", status=1, cwd=folder).stdout)

    def test_proven_with_the_users_file_as_it_was(self):
        source = self.folder / "crash/train.py"
        before = source.stat()
        (cause,) = json.loads(self.cure("--json", "crash/run", status=0).stdout)["causes"]
        self.assertEqual(cause["rule"], "mixed-operands")
        proven = [cure for cure in cause["cures"] if cure["verdict"] == "proven"]
        self.assertEqual(len(proven), 1, cause)  # with --all there may be more
        self.assertEqual(proven[0]["line"], 5)
        self.assertIn("+print((batch @ weight.to(torch.float32)).sum().item())", proven[0]["patch"])
        self.assertEqual((source.read_text(), source.stat().st_mtime_ns), (CRASH, before.st_mtime_ns))
        self.assertEqual(sorted(path.name for path in source.parent.iterdir()), ["run", "train.py"])
        self.assertEqual(list(self.temporary.glob("dtypecheck-*")), [])

    def test_list_runs_nothing_and_apply_changes_the_file(self):
        self.record("applied", CRASH)
        source = self.folder / "applied/train.py"
        listed = self.cure("--list", "run", status=1, cwd=source.parent).stdout
        self.assertIn("1   train.py:5  weight.to(torch.float32)", listed)
        self.assertNotIn("proven", listed)
        applied = self.cure("--apply", "1", "run", status=0, cwd=source.parent)
        self.assertIn("train.py.before-cure", applied.stderr)
        self.assertIn("+print((batch @ weight.to(torch.float32)).sum().item())", applied.stdout)
        self.assertEqual((source.parent / "train.py.before-cure").read_text(), CRASH)
        subprocess.run([sys.executable, source], check=True, capture_output=True, timeout=900)
        again = self.cure("--apply", "1", "run", status=2, cwd=source.parent)
        self.assertIn("has changed since it ran", again.stderr)
        self.assertFalse((source.parent / "train.py.before-cure2").exists())
        tried = self.cure("run", status=1, cwd=source.parent)
        self.assertIn("not tried:", tried.stdout)
        self.assertIn("no cure 99", self.cure("--apply", "99", "run", status=2, cwd=source.parent).stderr)

    def test_an_argument_that_says_the_dtype_is_shown_as_it_is_written(self):
        packages = self.folder / "loaded/site-packages"
        packages.mkdir(parents=True)
        (packages / "library.py").write_text(LIBRARY)
        self.record("loaded", LOADED)
        listed = self.cure("--list", "run", status=1, cwd=packages.parent).stdout
        self.assertIn('train.py:7  net = load("net", torch_dtype=torch.float32)\n', listed)

    def test_a_program_without_an_end_is_ended_when_enough_is_known(self):
        self.record("endless", ENDLESS)
        (cause,) = json.loads(self.cure("--json", "endless/run", status=0).stdout)["causes"]
        (proven,) = [cure for cure in cause["cures"] if cure["verdict"] == "proven"]
        self.assertIn("step", proven["reason"])
        self.assert_nothing_runs()

    def test_a_warning_behind_the_crash_is_none_of_the_cures(self):
        self.record("behind", WARNS_BEHIND)
        (cause,) = json.loads(self.cure("--json", "behind/run", status=0).stdout)["causes"]
        cured = [cure for cure in cause["cures"] if cure["verdict"] == "cures this"]
        self.assertTrue(cured, cause)
        self.assertIn("behind it BFloat16 parameters are stepped in place", cured[0]["reason"])

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
        run = self.copy("late")
        done = self.cure("--timeout", "2", run, "--", sys.executable, "-c", "import time; time.sleep(1000)", status=1)
        self.assertIn("nothing was recorded", done.stdout)

    def test_what_a_try_dies_of_is_told(self):
        run = self.copy("terminal")
        done = self.cure(run, "--", sys.executable, "-c", "import torch; torch.ones(1); input()", status=1)
        self.assertIn("dies: EOFError", done.stdout)

    def test_clean(self):
        self.record("clean", CLEAN)
        self.assertEqual(self.cure("clean/run", status=0).stdout, "nothing to cure: no errors, no warnings\n")

    def test_what_is_gone(self):
        run = self.copy("gone")
        description = json.loads((run / "run.json").read_text())
        for change, words in (({"folder": "/nonexistent"}, "the folder that the program ran in is gone"),
                              ({"command": []}, "names no command"),
                              ({"command": 1}, "name the command behind --")):
            (run / "run.json").write_text(json.dumps(description | change))
            self.assertIn(words, self.cure(run, status=2).stderr)
        (run / "run.json").write_text(json.dumps(description | {"command": ["/nonexistent/python", "train.py"]}))
        self.assertIn("/nonexistent/python", self.cure(run, status=1).stdout)
        (run / "run.json").unlink()
        self.assertIn("run.json", self.cure(run, status=2).stderr)
        (run / "sources.json").unlink()
        self.assertIn("the run kept no lines", self.cure("--list", run, status=1).stdout +
                      self.cure(run, "--", "true", status=1).stdout)
        self.assertIn("nowhere", self.cure("nowhere", status=2).stderr)


if __name__ == "__main__":
    unittest.main()
