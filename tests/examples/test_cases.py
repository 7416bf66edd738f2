"""examples/cases/run: what the data files say, how a report is held against it, and what is said where a case cannot be run."""

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.dont_write_bytecode = True
loader = SourceFileLoader("cases_run", os.path.join(ROOT, "examples", "cases", "run"))
spec = importlib.util.spec_from_loader("cases_run", loader)
cases_run = importlib.util.module_from_spec(spec)
loader.exec_module(cases_run)


def finding(severity, message, line=1, **more):
    return {"rule": "r", "severity": severity, "message": message, "location": {"file": "/a/train.py", "line": line}, **more}


class Cases(unittest.TestCase):
    def test_data_files(self):
        environments = cases_run.load("environments.toml")
        for name, case in cases_run.all_cases().items():
            with self.subTest(name=name):
                self.assertTrue(case["title"] and case["command"])
                self.assertRegex(case["repository"], r"^https://github\.com/[\w.-]+/[\w.-]+$")
                self.assertRegex(case["commit"], r"^[0-9a-f]{40}$")
                self.assertIn(case["environment"], environments)
                for run in case["run"].values():
                    self.assertIn(run["expect"], ("clean", "wrong", "grey"))
                    self.assertEqual(run["expect"] == "wrong", "at" in run and "damage" in run and "fix" in run)

    def test_judge(self):
        wrong = {"expect": "wrong", "at": ["train.py:7"], "cause": "--precision 16"}
        for run, findings, expected in (
                ({"expect": "clean"}, [], True), ({"expect": "clean"}, [finding("note", "cost")], True),
                ({"expect": "clean"}, [finding("warning", "lost")], False),
                (wrong, [finding("warning", "you asked for --precision 16", 7)], True),
                (wrong, [finding("warning", "you asked for --precision 16", 70)], False),
                (wrong, [finding("note", "you asked for --precision 16", 7)], False),
                (wrong, [finding("warning", "stepped in place", 7)], False)):
            with self.subTest(run=run, findings=findings):
                right, _, has_cause, _ = cases_run.judge(run, {"findings": findings})
                self.assertEqual(right and has_cause is not False, expected)

    def run_main(self, *arguments):
        out = io.StringIO()
        old = sys.argv
        sys.argv = ["run", *arguments]
        try:
            with contextlib.redirect_stdout(out):
                status = cases_run.main()
        finally:
            sys.argv = old
        return status, out.getvalue()

    def test_cannot_run(self):
        with tempfile.TemporaryDirectory() as folder:
            python = ["--python", f"training={sys.executable}", "--dtypecheck", sys.executable, "--work", f"{folder}/work"]
            os.makedirs(f"{folder}/none")
            status, said = self.run_main("nanogpt/float32", "mingpt/as_it_is", "--checkout", f"{folder}/none", *python)
            self.assertEqual(status, 2)
            self.assertEqual([line.split()[0] for line in said.splitlines()], ["mingpt/as_it_is", "nanogpt/float32"])
            self.assertIn("has no karpathy+nanoGPT", said)
            os.makedirs(f"{folder}/empty/nanoGPT")
            subprocess.run(["git", "init", "--quiet", f"{folder}/empty/nanoGPT"], check=True)
            status, said = self.run_main("nanogpt/float32", "--checkout", f"{folder}/empty", *python)
            self.assertEqual((status, said.count("\n")), (2, 1))
            self.assertIn("nanoGPT has no commit 3adf61e154c3", said)

    def test_died_by_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            class Ground:
                def path(self, *parts):
                    return os.path.join(folder, *parts)
            for part in ("results/a", "out/a"):
                os.makedirs(os.path.join(folder, part))
            with open(f"{folder}/results/a/b.json", "w") as file:
                json.dump({"status": 1}, file)
            with open(f"{folder}/out/a/b.log", "w") as file:
                file.write("ValueError: no data\n")
            self.assertIn("ValueError: no data", cases_run.how_it_died(Ground(), "a", "b", {"expect": "clean"}))
            self.assertEqual(cases_run.how_it_died(Ground(), "a", "b", {"expect": "wrong"}), "")


if __name__ == "__main__":
    unittest.main()
