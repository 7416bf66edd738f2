"""What --target says of a run is scored against the real thing.

The op families of a training run are recorded on the LibTorch of .venv; which of those that went through there would be
refused by 1.13.1, 2.3.1 and 2.6.0 is predicted from the contracts, and then run there. Versions whose environment is not
below $DTYPECHECK_TEST_CACHE (libtorch-<version>; the slow tracer tests make two of them) are left out, and said to be.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
DTYPECHECK = os.environ["DTYPECHECK"]
PYTHON = pathlib.Path(os.environ.get("DTYPECHECK_TORCH_PYTHON",
                                     HERE.parents[2] / ".venv/bin/python"))
CACHE = pathlib.Path(os.environ.get("DTYPECHECK_TEST_CACHE") or tempfile.gettempdir())
VERSIONS = ("1.13.1", "2.3.1", "2.6.0")

# Python's own refusals, and functions that a version lacks, are none of the dispatcher's.
NOT_OF_AN_OP = ("RNN input dtype", "input must have the type", "has no attribute",
                "unexpected keyword")


def refused(output):
    """The lines whose case was refused, and all lines."""
    lines = {}
    for text in output.splitlines():
        case = json.loads(text)
        said = case["raised"]
        lines[case["line"]] = bool(said) and not any(part in said["text"] for part in NOT_OF_AN_OP)
    return {line for line, is_refused in lines.items() if is_refused}, set(lines)


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


class Prediction(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.environments = {v: CACHE / f"libtorch-{v}/bin/python" for v in VERSIONS}
        there = [v for v in VERSIONS if cls.environments[v].exists()]
        if not there or not PYTHON.exists():
            raise unittest.SkipTest(f"no other LibTorch below {CACHE}; the slow tracer tests install two")
        cls.folder = tempfile.TemporaryDirectory(prefix="dtypecheck-prediction-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.program = pathlib.Path(cls.folder.name, "families.py")
        cls.run_folder = pathlib.Path(cls.folder.name, "run")
        cls.execute(sys.executable, HERE / "family_cases.py", cls.program)
        output = cls.execute(DTYPECHECK, "trace", "--no-report", "--out", cls.run_folder, "--",
                             PYTHON, "-W",
                             "ignore", cls.program)
        refused_here, lines = refused(output)
        cls.ran_here = lines - refused_here

    @staticmethod
    def execute(*command, statuses=(0,)):
        run = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True,
                             timeout=900)
        if run.returncode not in statuses:
            raise RuntimeError(run.stderr[-2000:])
        return run.stdout

    def predicted(self, version):
        report = json.loads(self.execute(DTYPECHECK, "report", self.run_folder, "--target",
                                         f"cpu:{version}", "--format",
                                         "json", statuses=(0, 1)))
        findings = [f for f in report["findings"] if f["rule"] == "fails-on-target"]
        self.assertTrue(all(f["location"]["file"].endswith("families.py") for f in findings))
        return {f["location"]["line"] for f in findings} & self.ran_here

    def score(self, version):
        python = self.environments[version]
        if not python.exists():
            print(f"{version}: left out, no {python}")
            return
        output = self.execute(python, "-W", "ignore", self.program)
        actual = refused(output)[0] & self.ran_here
        predicted = self.predicted(version)
        right = len(predicted & actual)
        precision, recall = percent(right, len(predicted)), percent(right, len(actual))
        print(f"{version}: {len(self.ran_here)} cases ran here, {len(actual)} are refused there, {len(predicted)} predicted, "
              f"{right} of them right: precision {precision:.1f} %, recall {recall:.1f} %")
        source = self.program.read_text().splitlines()
        raised = {json.loads(text)["line"]: json.loads(text)["raised"]
                  for text in output.splitlines()}
        for line in sorted(predicted ^ actual):
            kind = "false alarm" if line in predicted else "missed"
            print(f"  {kind}: {source[line - 1].strip()} {raised[line]['text'] if raised[line] else ''}")
        self.assertGreaterEqual(precision, 95.0)
        self.assertGreaterEqual(recall, 90.0)

    def test_1_13_1(self):
        self.score("1.13.1")

    def test_2_3_1(self):
        self.score("2.3.1")

    def test_2_6_0(self):
        self.score("2.6.0")


if __name__ == "__main__":
    unittest.main()
