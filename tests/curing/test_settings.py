"""curing/settings.py: what a command line, an environment and a configuration file may say instead."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "curing"))
import settings


def said(*words):
    """The changed command lines, in their order, without the program."""
    return [" ".join(one["command"][1:]) for one in settings.in_command(["python", *words], "/nonexistent")]


class SettingsTest(unittest.TestCase):
    def test_an_option(self):
        self.assertIn("--mixed_precision bf16", said("--mixed_precision", "fp16"))
        self.assertIn("precision=bf16", said("precision=fp16"))
        self.assertEqual(said("--full_bf16"), [""])

    def test_several_models_are_asked_for_one_dtype(self):
        self.assertIn("unet.weight_dtype=BFLOAT_16 encoder.weight_dtype=BFLOAT_16",
                      said("unet.weight_dtype=FLOAT_16", "encoder.weight_dtype=FLOAT_16"))
        self.assertIn("unet.weight_dtype=FLOAT_32 encoder.weight_dtype=FLOAT_16",
                      said("unet.weight_dtype=FLOAT_16", "encoder.weight_dtype=FLOAT_16"))

    def test_stochastic_rounding_that_is_off(self):
        self.assertEqual(said("optimizer.stochastic_rounding=false"), ["optimizer.stochastic_rounding=true"])
        self.assertEqual(said("optimizer.stochastic_rounding=true"), [])
        self.assertEqual(said("shuffle=false"), [])

    def test_a_number_is_no_dtype(self):
        self.assertEqual(said("--rank", "16", "--batch=16"), [])
        self.assertIn("--precision bf16", said("--precision", "16"))


if __name__ == "__main__":
    unittest.main()
