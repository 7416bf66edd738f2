"""What the report says of autocast: its decisions, its casts, and why it did not reach an op."""

import unittest

from traced import TracedTest, line_of, tool


class Autocast(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.untraced = cls.plain("autocast.py")
        cls.done = cls.traced("autocast.py")
        cls.autocast = cls.done.run.report["autocast"]

    def record(self, mark, op):
        line = line_of("autocast.py", mark)
        (record,) = [r for r in self.autocast["calls"]
                     if (r["location"]["line"], r["op"]) == (line, op)]
        return record

    def test_nothing_changed(self):
        self.assertEqual((self.done.status, self.done.out), (0, self.untraced.out))

    def test_casts_and_cache(self):
        first, second = self.record("first use", "aten::linear"), self.record("second use",
                                                                              "aten::linear")
        self.assertEqual((first["decision"], first["casts"], first["cache_hits"]),
                         ("lower precision", 9, 0))
        self.assertEqual((second["decision"], second["casts"], second["cache_hits"]),
                         ("lower precision", 0, 6))
        self.assertEqual(first["region"]["dtype"], "BFloat16")
        self.assertEqual(first["region"]["entered"]["line"], line_of("autocast.py", "entered"))

    def test_promotion(self):
        self.assertEqual(self.record("promotes", "aten::cat")["decision"], "promote")

    def test_op_without_a_rule(self):
        record = self.record("no rule", "aten::native_layer_norm")
        self.assertEqual((record["decision"], record["why"]),
                         ("untouched", "autocast for cpu has no rule for aten::native_layer_norm"))

    def test_why_not_reached(self):
        for mark, why, entered in [("off", "the innermost region switches autocast off",
                                    "switched off"),
                                   ("thread", "no region was open in this thread", None),
                                   ("after", "no region was open in this thread", None)]:
            record = self.record(mark, "aten::linear")
            self.assertEqual((record["decision"], record["why"]), ("untouched", why), mark)
            self.assertIsNone(record["region"]["dtype"])
            self.assertEqual(record["region"]["entered"]["line"],
                             line_of("autocast.py", entered) if entered else None)

    def test_table_of_casts(self):
        casts = {cast["location"]["line"]: cast for cast in self.autocast["casts"]}
        first = casts[line_of("autocast.py", "first use")]
        self.assertEqual((first["from"], first["to"], first["per_step"], first["weights_per_step"]),
                         ("Float", "BFloat16", 3, 2))
        self.assertEqual((first["repeats_every_step"], first["uncached"]), (True, False))
        self.assertEqual(first["bytes_per_step"], 2 * (2 * 4 + 4 * 4 + 4))
        self.assertTrue(casts[line_of("autocast.py", "data")]["uncached"])
        self.assertNotIn(line_of("autocast.py", "second use"), casts)
        text = tool("report", self.done.run.folder).stdout
        self.assertIn("casts a step move", text.decode() if isinstance(text, bytes)
                      else text)


if __name__ == "__main__":
    unittest.main()
