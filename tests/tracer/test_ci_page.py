"""The pipelines of docs/ci.md, run as they stand, of a training that dies of a dtype, of one that is well and of others."""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree
import zipfile

import yaml

from traced import DTYPECHECK, TracedTest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "ci.md"
TRAIN = """\
import torch
from torch import nn
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model({batch}).sum().backward()
    optimizer.step()
"""
WELL = TRAIN.format(batch="torch.ones(2, 4)")
DIES = TRAIN.format(batch="torch.ones(2, 4).half()")
WARNS = WELL + "torch.cat([torch.ones(4, dtype=torch.float16), torch.ones(4)])\n"
LOWERED = WARNS.replace("nn.Linear(4, 4)", "nn.Linear(4, 4).bfloat16()").replace("torch.ones(2, 4)", "torch.ones(2, 4).bfloat16()")
DIES_OTHERWISE = WELL + "print('no end of line', end='')\nraise SystemExit(7)\n"
KILLED = WELL + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"


def pipelines():
    blocks = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.M | re.S)]
    (github,) = [block["jobs"]["dtypes"] for block in blocks if "jobs" in block]
    (gitlab,) = [block["dtypes"] for block in blocks if "dtypes" in block]
    return github, gitlab


def wheel_in(folder):
    """One of that name with nothing in it, as a URL with its hash."""
    path = folder / "dtypecheck-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("dtypecheck-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: dtypecheck\nVersion: 1.0.0\n")
        wheel.writestr("dtypecheck-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("dtypecheck-1.0.0.dist-info/RECORD", "")
    return f"{path.as_uri()}#sha256={hashlib.sha256(path.read_bytes()).hexdigest()}"


class Pipelines(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.github, cls.gitlab = pipelines()
        programs = [str(pathlib.Path(DTYPECHECK).parent), str(pathlib.Path(sys.executable).parent)]
        for name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY", "GITLAB_CI"):
            cls.environment.pop(name, None)
        cls.environment |= {"PATH": os.pathsep.join([*programs, cls.environment["PATH"]]),
                            "DTYPECHECK_WHEEL": wheel_in(cls.folder), "PIP_NO_INDEX": "1",
                            "PIP_TARGET": str(cls.folder / "installed"), "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                            "PIP_NO_CACHE_DIR": "1"}

    def shell(self, folder, command, **environment):
        return subprocess.run(["bash", "-ec", command], cwd=folder, env=self.environment | environment,
                              capture_output=True, text=True)

    def checkout(self, train):
        folder = self.folder / f"checkout{len(list(self.folder.glob('checkout*')))}"
        folder.mkdir()
        (folder / "train.py").write_text(train)
        return folder

    def run_steps(self, folder, commands, **environment):
        """As a runner does: to the first that fails."""
        for command in commands:
            done = self.shell(folder, command, **environment)
            if done.returncode != 0:
                break
        return done

    def on_github(self, train, folder=None):
        folder = folder or self.checkout(train)
        commands = [step["run"] for step in self.github["steps"] if "run" in step]
        done = self.run_steps(folder, commands, GITHUB_ACTIONS="true", GITHUB_WORKSPACE=str(folder.parent),
                              GITHUB_STEP_SUMMARY=str(folder / "summary.md"))
        (upload,) = [step for step in self.github["steps"] if "sarif_file" in step.get("with", {})]
        self.assertEqual(upload["if"], "always()")
        sarif = json.loads((folder / upload["with"]["sarif_file"]).read_text())
        return done, sarif["runs"][0]["results"], (folder / "summary.md").read_text()

    def on_gitlab(self, train):
        folder = self.checkout(train)
        done = self.run_steps(folder, self.gitlab["script"], GITLAB_CI="true")
        self.assertEqual(self.gitlab["artifacts"]["when"], "always")
        name = self.gitlab["artifacts"]["reports"]["junit"]
        return done, xml.etree.ElementTree.parse(folder / name).getroot()

    def test_the_wheel_is_held_to_its_hash(self):
        for pipeline in (self.github["env"], self.gitlab["variables"]):
            self.assertRegex(pipeline["DTYPECHECK_WHEEL"], r"^https://.*/dtypecheck-[\d.]+-.*\.whl#sha256=")
        (install,) = [command for command in self.gitlab["script"] if "pip install" in command]
        self.assertEqual(self.shell(self.folder, install).returncode, 0)
        other = self.environment["DTYPECHECK_WHEEL"][:-1] + "x"
        self.assertNotEqual(self.shell(self.folder, install, DTYPECHECK_WHEEL=other).returncode, 0)

    def test_github_of_a_training_that_dies(self):
        done, results, summary = self.on_github(DIES)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("\n  train.py:6", done.stderr)
        self.assertRegex(done.stdout, r"(?m)^::error file=checkout\d+/train.py,line=6,title=mixed-operands::")
        self.assertEqual([result["level"] for result in results], ["error"])
        self.assertRegex(summary, r"^### dtypecheck: 1 error.*\n\n```text\nerror: ")

    def test_github_of_one_that_is_well(self):
        done, results, summary = self.on_github(WELL)
        self.assertEqual((done.returncode, results), (0, []), done.stderr)
        self.assertNotIn("::error", done.stdout)
        self.assertIn("no findings in", summary)

    def test_what_was_committed_is_no_news(self):
        folder = self.checkout(WARNS)
        (command,) = [step["run"] for step in self.github["steps"] if " ci " in step.get("run", "")]
        update = command.replace(" ci ", " ci --update ")
        self.assertIn(f"`{update}`", PAGE.read_text())
        done, results, _ = self.on_github(WARNS, folder)
        self.assertEqual((done.returncode, len(results)), (1, 1), done.stderr)
        self.assertEqual(self.shell(folder, update).returncode, 0)
        done, results, _ = self.on_github(WARNS, folder)
        self.assertEqual((done.returncode, results), (0, []), done.stderr)

        (folder / "train.py").write_text(LOWERED)
        done = self.shell(folder, command, GITHUB_ACTIONS="true")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("weight: Float → BFloat16", done.stderr)
        self.assertIn("::error file=dtype.lock", done.stdout)

    def test_a_run_that_dies_is_not_what_is_accepted(self):
        folder = self.checkout(DIES)
        done = self.shell(folder, "dtypecheck ci --update -- python train.py")
        self.assertEqual(done.returncode, 1)
        self.assertIn("dtype.baseline and dtype.lock stay as they are", done.stderr)
        self.assertEqual([path.name for path in folder.glob("dtype.*")], [])

    def test_gitlab(self):
        done, suites = self.on_gitlab(DIES)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(len(suites.findall(".//failure")), 1)
        done, suites = self.on_gitlab(WELL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((suites.get("tests"), suites.get("failures"), suites.get("errors")), ("1", "0", "0"))

    def test_what_ends_for_another_reason_returns_its_own_status(self):
        done, results, _ = self.on_github(DIES_OTHERWISE)
        self.assertEqual((done.returncode, results), (7, []), done.stderr)
        self.assertRegex(done.stdout, r"(?m)^no findings in")
        done, suites = self.on_gitlab(KILLED)
        self.assertEqual((done.returncode, suites.get("errors")), (137, "1"), done.stderr)

    def test_elsewhere_it_writes_no_file(self):
        folder = self.checkout(WARNS)
        done = self.shell(folder, "dtypecheck ci -- python train.py")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["dtypecheck-runs", "train.py"])
        done = self.shell(folder, "dtypecheck ci --fail-on error -- python train.py")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
