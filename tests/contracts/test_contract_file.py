"""The file that probe writes: messages as templates, patterns, merging, and reading it back."""

import io
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "rules/contracts/probe"))
import contract_file  # noqa: E402
import letters  # noqa: E402
import merge  # noqa: E402
import patterns  # noqa: E402
from contract_file import Rejects, combinations_of  # noqa: E402


def written(*tables):
    out = io.StringIO()
    merge.merged(tables).write(out)
    return out.getvalue()


def table(version, **outcomes):
    contracts = contract_file.Contracts()
    contracts.runtimes.append("cpu %s measured 2026-11-21 modes=plain" % version)
    for op, of_all in outcomes.items():
        contracts.add("aten::" + op, "self", "plain", 0, of_all)
    return contracts


UNARY = {"f": "f", "h": "h", "b": "b", "d": "d"}
NO_HALF = dict(UNARY, h=Rejects(("RuntimeError", "\"x\" not implemented for 'Half'")))
ALL = "".join(letters.DTYPES)


def message_template(*arguments):
    return contract_file.message_templates(*arguments)[0]


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

    def test_a_word_without_a_space_before_it(self):
        self.assertEqual(message_template("same dtypes but gotFloat and Half", "fh"),
                         "same dtypes but got{S0} and {S1}")

    def test_each_operand_that_has_the_dtype_may_be_the_one_that_is_named(self):
        templates = contract_file.message_templates("got Half and Float", "hhf")
        self.assertEqual(templates[:2], ["got {S0} and {S2}", "got {S0} and Float"])
        self.assertIn("got {S1} and {S2}", templates)
        for template in templates:
            self.assertEqual(contract_file.filled(template, "hhf"), "got Half and Float")

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

    def test_other_dtypes_alone_and_beside_the_first_four_and_long(self):
        pairs = combinations_of("tt", ALL)
        self.assertEqual(len(pairs), len(set(pairs)))
        for there in ("FF", "lF", "Fl", "hF", "ul"):
            self.assertIn(there, pairs)
        self.assertNotIn("uF", pairs)
        self.assertNotIn("hF", combinations_of("tt", ALL, "grad"))
        self.assertIn("fF", combinations_of("tt", ALL, "grad"))
        three = combinations_of("ttt", ALL)
        for there in ("lll", "fll", "lfl", "flf"):
            self.assertIn(there, three)
        self.assertNotIn("hll", three)
        self.assertEqual([c for c in combinations_of("l", ALL) if c == "o"], ["o"])

    def test_fixed_integers_vary_one_at_a_time(self):
        combinations = contract_file.index_combinations_of("self index:l,mask:o", "fl")
        self.assertEqual(combinations[:4], ["ffo", "flo", "flf", "fll"])
        self.assertEqual({c[0] for c in combinations}, set("fhb"))

    def test_equal_rows_of_versions_are_one(self):
        text = written(table("1", exp=NO_HALF), table("2", exp=UNARY), table("3", exp=UNARY))
        self.assertIn("plain 0 m0=h ^=*\nplain 1-2 ^=*\nend 2\n", text)

    def test_versions_that_measured_more_dtypes_share_a_row_with_those_that_did_not(self):
        wide = table("2", exp=dict(UNARY, l="f"))
        wide.runtimes[0] += " dtypes=fhbdl"
        text = written(table("1", exp=UNARY), wide)
        self.assertIn("plain * %=*\n", text)

    def test_versions_stand_in_order_and_the_last_measurement_counts(self):
        text = written(table("2.10.0", exp=UNARY), table("2.9.1", exp=UNARY),
                       table("2.10.0", exp=NO_HALF))
        self.assertRegex(text, "runtime 0 cpu 2.9.1.*\nruntime 1 cpu 2.10.0")
        self.assertIn("plain 0 ^=*\nplain 1 m0=h ^=*\n", text)

    def test_few_words_say_what_comes_of_promotion(self):
        outcomes = {c: letters.promoted(c, (1,)) or "?" for c in combinations_of("tt", ALL)}
        contracts = contract_file.Contracts()
        contracts.runtimes.append("cpu 1 measured 2026-11-21 dtypes=%s modes=plain" % ALL)
        contracts.add("aten::add", "self,other()", "plain", 0, outcomes)
        text = written(contracts)
        self.assertIn("^=*", text)
        again = contract_file.read(text.splitlines(True), "a")
        self.assertEqual(again.rows[("aten::add", "self,other()")]["plain"][0], outcomes)

    def test_any_outcomes_read_back(self):
        for seed in range(20):
            chance = random.Random(seed)
            kinds = chance.choice(("t", "tt", "ttt", "tttt", "l", "ll"))
            words = {c: chance.choice("f?-") if seed % 2 else "f?-"[c.count("h") % 3]
                     for c in combinations_of(kinds, ALL)}
            parts = patterns.parse(patterns.text_of(words).split(" "))
            patterns.check(parts, words, ALL)
            self.assertEqual(patterns.words_of(parts, list(words)), words)

    def test_it_reads_back_as_written(self):
        text = written(table("1", exp=NO_HALF, neg=UNARY), table("2", exp=UNARY))
        again = contract_file.read(text.splitlines(True), "a")
        self.assertEqual(written(again), text)
        self.assertEqual(again.rows[("aten::exp", "self")]["plain"][0], NO_HALF)

    def test_a_refusal_of_another_type_is_the_same_refusal(self):
        typed = dict(UNARY, h=Rejects(("NotImplementedError", NO_HALF["h"][1])))
        text = written(table("1", exp=NO_HALF), table("2", exp=typed))
        self.assertIn("message 0 RuntimeError|NotImplementedError:1 ", text)
        self.assertIn("op aten::exp self\nplain * m0=h ^=*\nend 1\n", text)
        again = contract_file.read(text.splitlines(True), "a")
        self.assertEqual([again.rows[("aten::exp", "self")]["plain"][column] for column in (0, 1)], [NO_HALF, typed])

    def test_ops_of_the_same_rows_share_them(self):
        text = written(table("1", exp=NO_HALF, neg=UNARY, sin=NO_HALF))
        self.assertIn("op aten::exp self\nop aten::sin self\nplain * m0=h ^=*\nop aten::neg self\nplain * ^=*\nend 2\n", text)
        again = contract_file.read(text.splitlines(True), "a")
        self.assertEqual(again.rows[("aten::sin", "self")]["plain"][0], NO_HALF)
        self.assertEqual(again.rows[("aten::neg", "self")]["plain"][0], UNARY)

    def test_what_is_cut_short_or_changed_is_refused(self):
        lines = written(table("1", exp=NO_HALF)).splitlines(True)
        for count in range(len(lines)):
            with self.assertRaises(ValueError):
                contract_file.read(lines[:count], "a")
        for old, new in (("contracts 3", "contracts 4"), ("m0=h", "m1=h"), ("m0=h", "m0=q"), ("end 1", "end 2")):
            with self.assertRaises(ValueError):
                contract_file.read("".join(lines).replace(old, new).splitlines(True), "a")


if __name__ == "__main__":
    unittest.main()
