"""Who asked for weights in 16 bits, and how many of them moved, as the report says it of a real run."""

import os
import unittest

from traced import TracedTest


class HalfWeights(TracedTest):
    def message(self, *arguments, rule="lost-update"):
        done = self.traced("half_weights.py", *arguments)
        self.assertEqual(done.status, 0, done.err)
        self.printed = done.out
        return [(finding["severity"], finding["message"]) for finding in done.run.findings(rule)]

    def test_option(self):
        (severity, message), = self.message("--precision", "bf16-true")
        self.assertEqual(severity, "warning")
        self.assertEqual(self.printed, self.plain("half_weights.py", "--precision", "bf16-true").out)
        self.assertRegex(message, r"^(100|over 99|9\d) % of the BFloat16 weights did not move in 3 steps; --precision bf16-true "
                                  r"\(half_weights.py's command line\) asked for BFloat16; use Float weights under autocast$")

    def test_configuration(self):
        path = os.path.join(self.folder, "train.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("lr: 1\nprecision: bf16-true\n")
        os.utime(path, (1, 1))
        (_, message), = self.message("--config", path)
        self.assertRegex(message, r"; precision=bf16-true \(\S*train.yaml:2\) asked for BFloat16; use ")

    def test_default_dtype(self):
        (_, message), = self.message("--default")
        self.assertRegex(message, r"; torch.set_default_dtype\(torch.bfloat16\) \(\S*half_weights.py:\d+\) asked for BFloat16; ")

    def test_all_moved(self):
        (severity, message), = self.message("--precision", "bf16-true", "--lr", "10")
        self.assertEqual(severity, "note", message)

    def test_half(self):
        (severity, message), = self.message("--precision", "16-true", rule="fp16-trainable")
        self.assertEqual(severity, "warning", message)  # it is finite
        self.assertIn("; --precision 16-true (half_weights.py's command line) asked for Half; ", message)

    def test_float(self):
        self.assertEqual(self.message("--precision", "32"), [])


if __name__ == "__main__":
    unittest.main()
