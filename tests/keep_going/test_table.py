"""Every op family with every pair of floating dtypes: rescued, not needed, or refused for a reason; never silently wrong.

`test_table.py --write` writes the table of README.md anew. The test compares it where torch and the CPU's vector instructions,
which choose kernels, are those that it was made with.
"""

import json
import pathlib
import re
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "tracer")]

from families import FAMILIES, REFUSED  # noqa: E402
from traced import TracedTest  # noqa: E402

DTYPES = "fhbd"
README = FOLDER / "README.md"
BEGIN, END = "<!-- the table: made by test_table.py --write -->\n", "<!-- the end of the table -->\n"


def mark(row):
    if row["failure"]:
        return "x"
    return "R" if row["refusal"] else "-"


def verdicts(rows, family):
    return " ".join("".join(mark(rows[f"{family}|{a}{b}"]) for b in DTYPES) for a in DTYPES)


def told_at(calls):
    """The ops that were repaired, by family."""
    names = list(FAMILIES)
    ops = {name: [] for name in names}
    for call in calls:
        found = re.match(r"cases\.(\d+)\b", call.get("module") or "")
        if not found or call["outcome"] != "repaired":
            continue
        op = call["op"].removeprefix("aten::")
        known = ops[names[int(found[1])]]
        if op not in known:
            known.append(op)
    return ops


def table_text(table, ops):
    lines = [f"torch {table['torch']}, {table['cpu']}", "", "| family | f h b d | told at |",
             "|---|---|---|"]
    lines += [f"| {name} | `{verdicts(table['rows'], name)}` | {', '.join(ops[name])} |"
              for name in FAMILIES]
    return "\n".join(lines) + "\n"


class Pairs(TracedTest):
    """Of Float and Half, with the quick tests."""

    dtypes, untouched, rescued = "fh", 100, 50

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = cls.traced_command([cls.interpreter, FOLDER / "table.py", cls.dtypes], ["--keep-going"])
        if done.status != 0:
            raise AssertionError(done.err)
        cls.run_of_table, cls.table = done.run, json.loads(done.out)
        cls.rows = cls.table["rows"]

    def test_no_result_gradient_or_written_argument_is_wrong(self):
        self.assertEqual({key: row["wrong"] for key, row in self.rows.items() if row["wrong"]}, {})

    def test_what_needed_no_repair_is_bit_identical(self):
        untouched = {key: row["same"] for key, row in self.rows.items() if not row["refusal"]
                     and not row["failure"]}
        self.assertGreater(len(untouched), self.untouched)
        self.assertEqual([key for key, same in untouched.items() if not same], [])

    def test_refused_is_only_what_has_a_reason(self):
        refused = {key.split("|")[0] for key, row in self.rows.items() if row["failure"]}
        self.assertEqual(refused, set(REFUSED))

    def test_what_is_refused_is_refused_as_without_keep_going(self):
        for key, row in self.rows.items():
            if row["failure"]:
                self.assertEqual(row["failure"], row["refusal"], key)

    def test_much_is_rescued(self):
        self.assertGreater(sum(mark(row) == "R" for row in self.rows.values()), self.rescued)


class Table(Pairs):
    """Of all of them."""

    dtypes, untouched, rescued = DTYPES, 500, 1000

    def test_readme_has_the_table(self):
        text = README.read_text()
        written = text[text.index(BEGIN) + len(BEGIN):text.index(END)]
        made = table_text(self.table, told_at(self.run_of_table.calls()))
        if written.splitlines()[0] != made.splitlines()[0]:
            self.skipTest(f"the table is of {written.splitlines()[0]}, this is {made.splitlines()[0]}")
        self.assertEqual(written, made)


def write():
    Table.setUpClass()
    text = README.read_text()
    made = table_text(Table.table, told_at(Table.run_of_table.calls()))
    README.write_text(text[:text.index(BEGIN) + len(BEGIN)] + made + text[text.index(END):])
    Table.doClassCleanups()


if __name__ == "__main__":
    write() if sys.argv[1:] == ["--write"] else unittest.main()
