"""Silent damage is told at its line, and its clean twin is not: values.py three times, and programs of their own.

A case of values.py is damaged where its number is off the one in Float by more than a twentieth, which the test holds too: what
is told has to be true. What a whole training shows, as a GradScaler that is missing, tests/failures has.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import clean_environment  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
DTYPECHECK = os.environ["DTYPECHECK"]
OFF = 0.05  # of the number in Float: 16 bits that lose nothing are nearer


def traced(mode):
    """What values.py prints, and the findings of warning or above by function."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        done = subprocess.run([DTYPECHECK, "trace", "--out", f"{folder}/run", "--format", "json", "-o", report, "--",
                               sys.executable, HERE / "values.py", mode], capture_output=True, text=True,
                              env=clean_environment() | {"OMP_NUM_THREADS": "1"}, timeout=600)
        assert done.returncode == 0, done.stderr
        findings = json.loads(report.read_text())["findings"]
    told = {}
    for finding in findings:
        if finding["severity"] != "note":
            told.setdefault(finding["location"]["function"].split(".")[0], set()).add(finding["rule"])
    return json.loads(done.stdout), told


class SilentTest(unittest.TestCase):
    def test_damage_is_told_and_its_twin_is_not(self):
        sys.argv = ["values.py", "float"]
        sys.path.insert(0, str(HERE))
        import values
        right = values.numbers(values.CASES)
        (damaged, told), (clean, told_of_clean) = traced("damaged"), traced("clean")
        for name, function in values.CASES.items():
            with self.subTest(name):
                is_off = abs(damaged[name] - right[name]) > OFF * abs(right[name])
                self.assertEqual(is_off, function.rule is not None, "whether it is damaged")
                self.assertLessEqual(abs(clean[name] - right[name]), OFF * abs(right[name]), "the twin is not clean")
                self.assertEqual(told_of_clean.get(name, set()), set())
                if function.rule:
                    self.assertIn(function.rule, told.get(name, set()))
                else:
                    self.assertEqual(told.get(name, set()), set())


if __name__ == "__main__":
    unittest.main()
