"""The file that probe writes: messages as templates, patterns, merging, and reading it back."""

import io
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "probe"))
import contract_file  # noqa: E402
from contract_file import Rejects, combinations_of, message_template  # noqa: E402


def written(*tables):
    merged = contract_file.Contracts()
    for table in tables:
        merged.add_all(table)
    out = io.StringIO()
    merged.write(out)
    return out.getvalue()


def table(version, **outcomes):
    contracts = contract_file.Contracts()
    contracts.runtimes.append("cpu %s measured 2026-11-21 modes=plain" % version)
    for op, of_all in outcomes.items():
        contracts.add("aten::" + op, "self", "plain", 0, of_all)
    return contracts


UNARY = {"f": "f", "h": "h", "b": "b", "d": "d"}
NO_HALF = dict(UNARY, h=Rejects(("RuntimeError", "\"x\" not implemented for '{S0}'")))


class ContractFile(unittest.TestCase):
    def test_a_dtype_in_a_message_is_named_by_its_operand(self):
        self.assertEqual(message_template("got Half and Float, float != c10::Half", "fh"),
                         "got {S1} and {S0}, {T0} != {T1}")
        self.assertEqual(message_template("type torch.HalfTensor, torch.float16, CPUHalfType", "h"),
                         "type {H0}, {P0}, {C0}")

    def test_a_word_that_only_looks_like_a_dtype_stays(self):
        self.assertEqual(message_template("FloatFunctional floating HalfPixel", "fh"),
                         "FloatFunctional floating HalfPixel")
        self.assertEqual(message_template("must be a float tensor", "h"), "must be a float tensor")

    def test_autocasts_own_dtype(self):
        self.assertEqual(message_template("got BFloat16 and Double", "d", "b"), "got {SA} and {S0}")

    def test_up_to_three_operands_in_full(self):
        self.assertEqual(len(combinations_of("ttt")), 64)
        self.assertEqual(len(set(combinations_of("t"))), 4)

    def test_more_operands_with_each_pair_of_dtypes_on_each_pair_of_operands(self):
        combinations = combinations_of("ttttt")
        self.assertEqual(len(combinations), len(set(combinations)))
        for i in range(5):
            for j in range(i + 1, 5):
                self.assertEqual(len({c[i] + c[j] for c in combinations}), 16)

    def test_a_lone_list_has_two_dtypes_too(self):
        self.assertEqual(len(combinations_of("l")), 16)
        self.assertEqual(len(combinations_of("ll")), 16)

    def test_equal_rows_of_versions_are_one(self):
        text = written(table("1", exp=NO_HALF), table("2", exp=UNARY), table("3", exp=UNARY))
        self.assertIn("plain 0 f=f m0=h b=b d=d\nplain 1-2 f=f h=h b=b d=d\nend 2\n", text)

    def test_it_reads_back_as_written(self):
        text = written(table("1", exp=NO_HALF, neg=UNARY), table("2", exp=UNARY))
        again = contract_file.read(text.splitlines(True), "a")
        self.assertEqual(written(again), text)
        self.assertEqual(again.rows[("aten::exp", "self")]["plain"][0], NO_HALF)

    def test_what_is_cut_short_or_changed_is_refused(self):
        lines = written(table("1", exp=NO_HALF)).splitlines(True)
        for count in range(len(lines)):
            with self.assertRaises(ValueError):
                contract_file.read(lines[:count], "a")
        for old, new in (("contracts 1", "contracts 2"), ("m0=h", "m1=h"), ("b=b", "b=q"), ("end 1", "end 2")):
            with self.assertRaises(ValueError):
                contract_file.read("".join(lines).replace(old, new).splitlines(True), "a")


if __name__ == "__main__":
    unittest.main()
