"""trace --in-float: a module computes in Float as a person would have written it, and nothing else changes."""

import unittest

from traced import TracedTest, tool


class InFloat(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seen = {}

    def printed(self, *words, modules=("net.blocks.1",)):
        key = words, tuple(modules)
        if key not in self.seen:
            self.seen[key] = self.ran(*words, modules=modules)
        return self.seen[key]

    def ran(self, *words, modules):
        options = [part for module in modules for part in ("--in-float", module)]
        done = self.traced("in_float.py", *words, options=options)
        self.assertEqual(done.status, 0, done.err)
        self.assertEqual("are not those of the program" in done.said, bool(modules))
        return done, done.printed()

    def assert_as_by_hand(self, dtype, done, by_hand):
        _, ours = self.printed(dtype, done)
        _, theirs = self.printed(dtype, by_hand, modules=())
        self.assertEqual(ours, theirs)
        _, plain = self.printed(dtype, done, modules=())
        self.assertNotEqual(ours["loss0"], plain["loss0"])

    def test_to_the_last_bit_as_by_hand(self):
        self.assert_as_by_hand("bfloat16", "", "by_hand")

    def test_within_autocast(self):
        self.assert_as_by_hand("float32", "autocast", "autocast_by_hand")

    def test_nothing_else_changes(self):
        _, plain = self.printed("bfloat16", modules=())
        for modules in (["net.blocks.10"], ["net.blocks.1.gate.pro"], ["block"]):
            done, printed = self.printed("bfloat16", modules=modules)
            self.assertEqual(printed, plain)
            self.assertIn(f"--in-float {modules[0]}: no op was called in a module of this name", done.said)

    def test_of_a_program_in_float(self):
        self.assertEqual(self.printed("float32", modules=["net"])[1], self.printed("float32", modules=())[1])

    def test_what_a_module_gives(self):
        self.assertEqual(self.printed("bfloat16", "kinds")[1]["kinds"], ["bfloat16"] * 3 + ["float32", "bfloat16"])

    def test_random_numbers_stay(self):
        plain = self.printed("bfloat16", "dropout", modules=())[1]
        ours = self.printed("bfloat16", "dropout")[1]
        self.assertEqual(ours["drawn"], plain["drawn"])
        self.assertLess(abs(float(ours["loss0"][0]) - float(plain["loss0"][0])), 0.02)

    def test_a_module_that_raises(self):
        _, printed = self.printed("bfloat16", "raises", modules=["net.blocks.1.gate"])
        self.assertEqual(printed, self.printed("bfloat16", "raises", modules=())[1])

    def test_checkpoint(self):
        ours, plain = (self.printed("bfloat16", done)[1] for done in ("checkpoint", ""))
        self.assertEqual(ours["loss0"], plain["loss0"])
        self.assertEqual(ours["dtypes"], ["bfloat16", "bfloat16"])

    def test_a_compiled_region_stays(self):
        """Said of a module that is one, and of one in it."""
        _, plain = self.printed("bfloat16", "compiled", modules=())
        done, printed = self.printed("bfloat16", "compiled", modules=["net.blocks.1.gate", "net.blocks.1.gate.proj"])
        self.assertEqual(printed, plain)
        stays = "a region of torch.compile, which stays as it was compiled"
        self.assertIn(f"--in-float net.blocks.1.gate: in it is {stays}", done.said)
        self.assertIn(f"--in-float net.blocks.1.gate.proj: no op was called in a module of this name, outside of {stays}", done.said)
        self.assertNotIn("region", self.printed("bfloat16")[0].said)

    def test_is_in_the_trace(self):
        done, _ = self.printed("bfloat16", modules=["net.head", "net.blocks.0"])
        (process,) = done.run.report["processes"]
        self.assertEqual(process["facts"]["in-float"], "net.head+net.blocks.0")

    def test_names_that_are_none(self):
        for name in ("", "a,b", "a+b"):
            done = tool("trace", "--in-float", name, "--", "python", "-c", "0", statuses=(2,))
            self.assertIn(b"expected a module", done.stderr)


if __name__ == "__main__":
    unittest.main()
