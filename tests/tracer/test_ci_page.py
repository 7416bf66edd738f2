"""The pipelines of docs/ci.md: they are YAML, and their commands run, as far as a machine without a network can."""

import os
import pathlib
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

import yaml

from traced import DTYPECHECK, TracedTest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "ci.md"
TRAIN = """\
import torch
from torch import nn
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
"""
FAULT = "torch.cat([torch.ones(4, dtype=torch.float16), torch.ones(4)])\n"


def pipelines():
    blocks = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.M | re.S)]
    (github,) = [block["jobs"]["dtypes"] for block in blocks if "jobs" in block]
    (gitlab,) = [block["dtypes"] for block in blocks if "dtypes" in block]
    return github, gitlab


class Pipelines(TracedTest):
    def in_folder(self, name, train):
        folder = self.folder / name
        folder.mkdir()
        (folder / "train.py").write_text(train)
        return folder

    def shell(self, folder, command):
        path = os.pathsep.join([str(pathlib.Path(DTYPECHECK).parent), str(pathlib.Path(sys.executable).parent),
                                self.environment["PATH"]])
        return subprocess.run(["bash", "-ec", command], cwd=folder, env=self.environment | {"PATH": path},
                              capture_output=True, text=True)

    def run_all(self, folder, commands):
        """Statuses, without the commands that need a network; the dtypes that are committed are those of the run."""
        done = {}
        for command in commands:
            if command.startswith("pip install"):
                continue
            self.assertTrue(command.startswith("dtypecheck "), command)
            done[command] = self.shell(folder, command)
            self.assertNotIn("did you mean", done[command].stderr)
            if " trace " in command and not (folder / "dtype.lock").exists():
                self.shell(folder, "dtypecheck lock run -o dtype.lock")
                self.shell(folder, "touch dtype.baseline")
        return done

    def test_github(self):
        github, _ = pipelines()
        commands = [step["run"] for step in github["steps"] if "run" in step]
        clean = self.run_all(self.in_folder("github", TRAIN), commands)
        self.assertEqual({done.returncode for done in clean.values()}, {0},
                         [done.stderr for done in clean.values()])
        self.assertTrue((self.folder / "github" / "dtypes.sarif").exists())
        uploads = [step for step in github["steps"] if "sarif_file" in step.get("with", {})]
        self.assertEqual(uploads[0]["with"]["sarif_file"], "dtypes.sarif")
        failing = self.run_all(self.in_folder("github-failing", TRAIN + FAULT), commands)
        (annotated,) = [done for command, done in failing.items() if "--format github" in command]
        self.assertEqual(annotated.returncode, 1)
        self.assertIn("::warning file=train.py,line=8", annotated.stdout)

    def test_gitlab(self):
        _, gitlab = pipelines()
        folder = self.in_folder("gitlab", TRAIN + FAULT)
        done = self.run_all(folder, gitlab["script"])
        self.assertEqual([one.returncode for one in done.values()][-1], 1)
        (name,) = {gitlab["artifacts"]["reports"]["junit"]}
        suites = xml.etree.ElementTree.parse(folder / name).getroot()
        self.assertEqual(len(suites.findall(".//failure")), 1)


if __name__ == "__main__":
    unittest.main()
