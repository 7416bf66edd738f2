"""The questions of docs/scale.md about one run, asked of the database that dump wrote."""

import pathlib
import re
import sqlite3
import unittest

import tool

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "scale.md"
RUN = """\
process pid=7 rank=0 host=a libtorch=2.11.0 steps=3
op aten::_to_copy self=Float[2,4] dtype:=Half -> Half[2,4] at train.py:3 main phase forward step 1-3 count 3 by 0-1x3 cast 8 1 900 looked 8 2 0
op aten::linear input=Half[2,4]<#1 weight=Float[4,4]%net.weight raised "expected \\xff dtype" c10::Error at train.py:9 main in net (Linear) phase forward step 1
op aten::linear input=BFloat16[2,4] weight=BFloat16[4,4] -> BFloat16[2,4] at train.py:9 main in net (Linear) phase forward step 2 autocast cpu:BFloat16 inner
op aten::layer_norm input=Float[2,4] -> Float[2,4] at train.py:9 main in net.norm (LayerNorm) phase forward step 1
op aten::add_ self=Float[4,4]%net.weight!out other=Float[4,4] -> Float[4,4] at train.py:12 main phase optimizer step 1-3 count 3
process pid=8 rank=1 host=b libtorch=2.11.0 steps=3
"""


def questions():
    return re.findall(r"^```sql\n(.*?)^```", DOCS.read_text(), re.M | re.S)


class Sqlite(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("run.trace", RUN)
        done = self.run_tool("dump", "run.trace", "--format", "sqlite", "-o", "run.db")
        self.assertEqual((done.status, done.out, done.err), (0, "", ""))
        self.database = sqlite3.connect(self.work / "run.db")
        self.addCleanup(self.database.close)

    def ask(self, sql):
        return self.database.execute(sql).fetchall()

    def test_ten_questions(self):
        answers = [self.ask(question) for question in questions()]
        self.assertEqual(len(answers), 10)
        self.assertEqual(answers[0], [("Float", 1)])
        self.assertEqual(answers[1], [("net.norm",)])
        self.assertEqual([row[:3] for row in answers[2]], [(2, "aten::linear", "net")])
        self.assertEqual(answers[3], [("aten::linear", "train.py", 9, 1, "expected \N{REPLACEMENT CHARACTER} dtype")])
        self.assertEqual(answers[4], [("train.py", 3, "Float", "Half", 3)])
        self.assertEqual(answers[5], [("aten::linear", "cpu:BFloat16", "BFloat16", 1)])
        self.assertEqual(answers[6], [("aten::_to_copy", "train.py", 3, 1)])
        self.assertEqual(answers[7], [("aten::add_", "self", "Float", 3)])
        self.assertEqual(len(answers[8]), 4)
        self.assertEqual([row[4] for row in answers[9]], [2])

    def test_the_columns_are_those_of_the_page(self):
        for table, columns in re.findall(r"^\| `(\w+)` \| (.*?)(?::.*)? \|$", DOCS.read_text(), re.M):
            found = [row[1] for row in self.ask(f"PRAGMA table_info({table})")]
            self.assertEqual(", ".join(found), columns, table)

    def test_what_has_no_column_is_in_the_json(self):
        self.assertEqual(self.ask("SELECT op, json_extract(json, '$.cast.clipped') FROM op_calls WHERE json_extract(json, '$.cast') "
                                  "IS NOT NULL"), [("aten::_to_copy", 2)])

    def test_what_is_not_known_is_null(self):
        self.assertEqual(self.ask("SELECT count(*) FROM op_calls WHERE module IS NULL"), [(2,)])
        self.assertEqual(self.ask("SELECT value FROM meta WHERE key = 'schema'"), [("1",)])
        self.assertEqual(self.ask("SELECT rank, host FROM processes"), [(0, "a"), (1, "b")])

    def test_a_file_that_cannot_be_written(self):
        self.assert_one_line(self.run_tool("dump", "run.trace", "--format", "sqlite", "-o", "none/run.db"), "none/run.db")


if __name__ == "__main__":
    unittest.main()
