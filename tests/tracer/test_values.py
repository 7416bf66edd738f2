"""--check-values finds where a NaN or an infinity begins, and is silent where a program means it."""

import unittest

from traced import TracedTest, line_of


class FirstNonFinite(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = cls.traced("values.py", options=["--check-values"])

    def call(self, name, op):
        (call,) = self.done.run.calls(line=line_of("values.py", name), op=op)
        return call

    def test_findings_name_where_it_began(self):
        found = {(f["location"]["line"], f["op"]) for f in self.done.run.findings()}
        self.assertEqual(found, {(line_of("values.py", "first inf"), "aten::mul"),
                                 (line_of("values.py", "nan of inf"), "aten::sub")})
        cause, consequence = sorted(self.done.run.findings(), key=lambda finding: finding["location"]["line"])
        self.assertEqual((consequence["follows"], cause["severity"]), (cause["id"], "error"))
        self.assertEqual({f["rule"] for f in self.done.run.findings()}, {"first-non-finite"})

    def test_what_comes_of_it_had_non_finite_operands(self):
        for name, op in [("nan of inf", "aten::sub"), ("nan goes on", "aten::add")]:
            self.assertEqual(self.call(name, op)["non_finite"]["value"], "nan")
            self.assertFalse(self.call(name, op)["non_finite"].get("operands_were_finite"))
        self.assertTrue(self.call("later nan", "aten::div")["non_finite"]["operands_were_finite"])

    def test_finite_is_finite(self):
        self.assertNotIn("non_finite", self.call("finite", "aten::log"))
        self.assertNotIn("non_finite", self.call("softmax", "aten::softmax"))
        self.assertNotIn("non_finite", self.call("short targets", "aten::_ctc_loss"))


class WithoutResult(TracedTest):
    def test_there_is_nothing_to_compute_again(self):
        done = self.traced("asserts.py")
        (call,) = done.run.calls(line=line_of("asserts.py", "asserted"), op="aten::_assert_tensor_metadata")
        self.assertEqual(call["count"], 1)


class FirstInTime(TracedTest):
    """What a later step makes of an op is not what the first one made of it."""

    def test_the_first_is_reported(self):
        done = self.traced("values_in_time.py", options=["--check-values"])
        (cause, consequence) = done.run.findings()
        self.assertEqual((cause["op"], cause["location"]["line"]),
                         ("aten::exp", line_of("values_in_time.py", "overflow")))
        self.assertIn("in step 3", cause["why"])
        self.assertEqual(consequence["location"]["line"], line_of("values_in_time.py", "difference"))
        self.assertEqual(consequence["follows"], cause["id"])

    def test_a_late_step_is_looked_at_where_it_is_named(self):
        late = ["values_in_time.py", "4.4", "25"]  # overflows in step 21
        (unnamed,) = self.traced(*late, options=["--check-values"]).run.findings()
        self.assertEqual(unnamed["rule"], "non-finite-loss")
        self.assertIn("dtypecheck trace --check-values=20-21:", unnamed["fix"])
        cause, _ = self.traced(*late, options=["--check-values=3,20-21"]).run.findings()
        self.assertEqual((cause["op"], cause["location"]["line"]),
                         ("aten::exp", line_of("values_in_time.py", "overflow")))

    def test_steps_that_are_none(self):
        for steps in "0", "x", "5-", "1,,2", "-3":
            done = self.traced("values_in_time.py", options=[f"--check-values={steps}"])
            self.assertEqual(done.status, 2)
            self.assertIn(f"--check-values={steps}: expected steps counted from 1", done.said)


class Loss(TracedTest):
    """Without value checks a loss that is NaN is reported, and what shows where it began."""

    def test_a_loss_that_is_nan(self):
        done = self.traced("values_in_time.py")
        (finding,) = done.run.findings("non-finite-loss")
        self.assertEqual(finding["location"]["line"], line_of("values_in_time.py", "backward"))
        self.assertEqual(finding["severity"], "error")
        self.assertIn("step 3", finding["why"])
        self.assertIn("dtypecheck trace --check-values", finding["fix"])

    def test_a_finite_loss(self):
        done = self.traced("values_in_time.py", "0")
        self.assertEqual(done.run.findings(), [])


class Read(TracedTest):
    """What the program itself reads, as it must be on a GPU."""

    def test_a_gradient_of_a_finite_loss(self):
        for arguments, line, value in ([], "norm", "NaN"), (["asks"], "asked", "not finite"):
            with self.subTest(line):
                done = self.traced("values_read.py", *arguments)
                self.assertEqual(done.status, 0, done.err)
                (finding,) = done.run.findings("non-finite-loss")
                self.assertEqual(finding["message"], f"a gradient is {value}")
                self.assertEqual(finding["location"]["line"], line_of("values_read.py", line))
                self.assertIn("the program read that back, the first time in step 2", finding["why"])


class TwoWays(TracedTest):
    def test_damage_that_comes_together_again_is_one(self):
        done = self.traced("residual.py")
        self.assertEqual(done.status, 0, done.err)
        (finding,) = done.run.findings("far-from-float")
        self.assertEqual(finding["location"]["line"], line_of("residual.py", "angle"))


class Meant(TracedTest):
    def test_masks_and_scalers_are_meant(self):
        done = self.traced("clean_values.py", options=["--check-values"])
        self.assertEqual(done.status, 0, done.err)
        self.assertTrue(any(call.get("non_finite") for call in done.run.calls()))
        self.assertEqual(done.run.findings("first-non-finite"), [])


if __name__ == "__main__":
    unittest.main()
