"""The questions of docs/scale.md about many runs: each engine gives the answers of a loop in Python."""

import os
import pathlib
import shutil
import tempfile
import unittest

import runs_asked

RUNS = int(os.environ.get("DTYPECHECK_TEST_RUNS", "1000"))


class Engines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="dtypecheck-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        runs_asked.make_runs(os.environ["DTYPECHECK"], cls.folder, RUNS)
        cls.wanted = runs_asked.asked("python", cls.folder)

    def test_the_answers_are_what_was_made_up(self):
        low, changed, versions, casts, differ = self.wanted
        self.assertEqual(low, [[f"{run // 10:05d}-{run // 10 * 2654435761 % 2**28:07x}", f"job{run:05d}"] for run in range(3, RUNS, 10)])
        self.assertEqual([row[1:] for row in changed], [["net.layers.3", "BFloat16", "Float"]])
        self.assertTrue(changed[0][0].startswith(f"{RUNS // 20:05d}-"), changed)
        self.assertIn(["2.15.0", "silent-promotion", len([run for run in range(RUNS // 20 * 10, RUNS) if run % 4 == 0])], versions)
        self.assertNotIn("2.11.0", [row[0] for row in versions if row[1] == "silent-promotion"])
        self.assertEqual([row[:3] for row in casts], [["Float", "BFloat16", 9 * RUNS]])
        self.assertEqual([row[1:] for row in differ],
                         [[f"job{run:05d}", rank, "net.head", 1] for run in range(7, RUNS, 50) for rank in (0, 1)])

    def check(self, engine):
        if missing := runs_asked.missing(engine):
            self.skipTest(missing)
        self.assertEqual(runs_asked.asked(engine, self.folder), self.wanted)

    def test_duckdb(self):
        self.check("duckdb")

    def test_duckdb_over_parquet(self):
        self.check("parquet")

    def test_spark(self):
        self.check("spark")

    def test_clickhouse(self):
        self.check("clickhouse")


if __name__ == "__main__":
    unittest.main()
