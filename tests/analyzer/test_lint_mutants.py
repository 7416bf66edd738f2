"""What bench/lint_mutants.py says of our four small programs: the refused mutants that lint finds, and what it is to be silent on.

It compiles and runs them, with the LibTorch of .venv, which takes minutes.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import lint_mutants  # noqa: E402

if not lint_mutants.can_run():
    print(f"skipped: needs {lint_mutants.COMPILER} and the torch of .venv")
    sys.exit(77)


class Mutants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="dtypecheck-test-") as folder:
            rows = pathlib.Path(folder) / "rows.json"
            done = subprocess.run([sys.executable, "-B", ROOT / "bench/lint_mutants.py", "--most", "1", "--timeout", "300", "--rows", rows,
                                   "--dtypecheck", os.environ["DTYPECHECK"]], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            cls.table = done.stdout
            cls.rows = json.loads(rows.read_text())
            cls.refused = [row for row in cls.rows if row["outcome"] == "refused"]

    def test_each_program_has_refused_mutants(self):
        self.assertEqual({row["program"] for row in self.refused}, {"classifier", "gan", "text", "regression"})

    def test_a_dozen_operators_are_refused_somewhere(self):
        self.assertGreaterEqual(len({row["operator"] for row in self.refused}), 12)

    def test_most_refused_mutants_are_found(self):
        found = [row for row in self.refused if row["found"] in ("line", "origin")]
        self.assertGreaterEqual(len(found), 0.8 * len(self.refused), self.table)

    def test_the_refused_line_is_a_line_of_the_program(self):
        self.assertTrue(all(row["at"] for row in self.refused), self.table)

    def test_a_cast_to_the_dtype_that_is_there_is_no_mistake(self):
        there = [row for row in self.rows if row["neutral"] and row["outcome"] == "no effect"]
        self.assertGreater(len(there), 10)
        self.assertEqual([row["findings"] for row in there if row["found"]], [])

    def test_originals_are_clean_and_understood(self):
        self.assertIn("originals: 0 loud findings; 0 of 4 files in part", self.table)


if __name__ == "__main__":
    unittest.main()
