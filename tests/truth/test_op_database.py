"""Every refusal of LibTorch's own operator database gets a finding, and no other failing call does.

Needs the torch of .venv; skips, and says so, where it is missing. Run with a folder as argument it
keeps the programs and the reports there.
"""

import collections
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
                                     HERE.parents[1] / ".venv/bin/python"))
KEPT = None


def is_reported(finding):
    """An error; or a note about a refusal that the program caught, which these all are."""
    return finding["severity"] == "error" or bool(finding.get("error"))


@unittest.skipUnless(PYTHON.exists(), f"{PYTHON} is missing")
class OpDatabase(unittest.TestCase):
    def found(self, kind):
        """[(call, its findings)], traced as a user would."""
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(KEPT or temporary) / kind
            subprocess.run([PYTHON, HERE / "op_database_calls.py", kind, folder], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            findings = collections.defaultdict(list)
            for program in sorted(folder.glob("program_*.py")):
                for finding in filter(is_reported, self.findings_of(program)):
                    places = [finding["location"]] + finding.get("related", [])
                    for line in {place.get("line") for place in places}:
                        findings[program.name, line].append(finding)
            calls = json.loads((folder / "calls.json").read_text())
        return [(call, findings[call["program"], call["line"]]) for call in calls]

    def findings_of(self, program):
        run, report = program.with_suffix(".run"), program.with_suffix(".json")
        subprocess.run([DTYPECHECK, "trace", "--out", run, "--", PYTHON, program], check=True,
                       capture_output=True)
        told = subprocess.run([DTYPECHECK, "report", "--all", "--format", "json", run],
                              capture_output=True, text=True)
        report.write_text(told.stdout)
        return json.loads(told.stdout)["findings"]

    def test_refusals_are_found(self):
        scores = collections.defaultdict(list)
        for call, findings in self.found("refused"):
            scores[call["what"]].append(bool(findings))
        for what, hits in sorted(scores.items()):
            print(f"{what:22} {sum(hits):4} of {len(hits)}")
        hits = [hit for of_kind in scores.values() for hit in of_kind]
        print(f"{sum(hits)} of {len(hits)} refusals are found")
        self.assertGreater(len(hits), 900)
        self.assertGreaterEqual(sum(hits) / len(hits), 0.98)

    def test_other_failures_are_not(self):
        self.assert_none("others", 400)

    def test_failures_of_legal_mixes_are_not(self):
        self.assert_none("mixed", 1500)

    def assert_none(self, kind, least):
        calls = self.found(kind)
        wrong = [(call["op"], call["what"], call["error"], [f["message"] for f in findings])
                 for call, findings in calls if findings]
        print(f"{len(wrong)} of {len(calls)} failures for other reasons get a finding ({kind})")
        self.assertGreater(len(calls), least)
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        KEPT = pathlib.Path(sys.argv.pop(1))
    unittest.main()
