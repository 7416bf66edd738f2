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
                                 (line_of("values.py", "first nan"), "aten::div")})
        self.assertEqual({f["rule"] for f in self.done.run.findings()}, {"first-non-finite"})

    def test_what_comes_of_it_had_non_finite_operands(self):
        for name, op in [("nan of inf", "aten::sub"), ("nan goes on", "aten::add")]:
            self.assertEqual(self.call(name, op)["non_finite"]["value"], "nan")
            self.assertFalse(self.call(name, op)["non_finite"].get("operands_were_finite"))
        self.assertTrue(self.call("first nan", "aten::div")["non_finite"]["operands_were_finite"])

    def test_finite_is_finite(self):
        self.assertNotIn("non_finite", self.call("finite", "aten::log"))
        self.assertNotIn("non_finite", self.call("softmax", "aten::softmax"))


class Meant(TracedTest):
    def test_masks_and_scalers_are_meant(self):
        done = self.traced("clean_values.py", options=["--check-values"])
        self.assertEqual(done.status, 0, done.err)
        self.assertTrue(any(call.get("non_finite") for call in done.run.calls()))
        self.assertEqual(done.run.findings("first-non-finite"), [])


if __name__ == "__main__":
    unittest.main()
