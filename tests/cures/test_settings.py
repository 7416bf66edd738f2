"""cures/settings.py: what a command line, an environment and a configuration file may say instead."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cures"))
import settings
from lists import configuration, precision_names, precisions

settings.PRECISIONS.extend(precisions())
settings.PRECISION_NAMES.extend(precision_names())
settings.CONFIGURATION.extend(configuration())


def said(*words):
    """The changed command lines, in their order, without the program."""
    with tempfile.TemporaryDirectory() as folder:
        return [" ".join(one["command"][1:]) for one in settings.in_command(["python", *words], folder)]


class SettingsTest(unittest.TestCase):
    def test_an_option(self):
        self.assertIn("--mixed_precision bf16", said("--mixed_precision", "fp16"))
        self.assertIn("precision=bf16", said("precision=fp16"))
        self.assertEqual(said("--full_bf16"), [""])
        self.assertEqual(said("--precision", "pure_fp16"),
                         ["--precision amp_fp16", "--precision amp_bf16", "--precision pure_bf16", "--precision fp32"])
        self.assertEqual(said("--precision=amp_fp16"), ["--precision=amp_bf16", "--precision=fp32"])

    def test_the_words_of_a_family_stand_for_one_another(self):
        self.assertEqual(said("--precision", "16-true"), [f"--precision {word}" for word in ("16-mixed", "bf16-mixed", "bf16-true", "32-true")])
        self.assertEqual(said("--precision", "bfp16"), ["--precision fp32"])
        self.assertEqual(said("--precision", "FP16")[0], "--precision BF16")
        self.assertEqual(said("--dtype", "torch.float16"), ["--dtype torch.bfloat16", "--dtype torch.float32"])
        self.assertEqual(said("--dtype", "fp160"), [])
        self.assertEqual(said("--dtype", "fp64"), [])
        self.assertEqual(said("--no-bf16"), [""])
        self.assertEqual(said("--save-16"), [])

    def test_who_asked_for_float_is_asked_for_nothing_else(self):
        self.assertEqual(said("--mixed_precision", "no"), [])
        self.assertEqual(said("precision=32-true"), [])

    def test_what_the_script_declares(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "launch.py").write_text("")
            pathlib.Path(folder, "train.py").write_text(
                "p.add_argument('--precision', default='no', choices=['no', 'fp16', 'bf16'])\n"
                "p.add_argument('-d', '--vae_dtype', default='float16')\n"
                "p.add_argument('--size', default='16')\n")
            changed = [" ".join(one["command"][3:])
                       for one in settings.in_command(["python", "launch.py", "train.py", "--precision", "fp16"], folder)]
            given = [one["command"] for one in settings.in_command(["python", "train.py", "-d", "float32"], folder)]
        self.assertEqual(changed, ["--precision bf16", "--precision no", "--precision fp16 --vae_dtype bfloat16",
                                   "--precision fp16 --vae_dtype float32"])
        self.assertEqual(given, [])

    def test_mixed_precision_beside_weights_in_16_bits(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "train.py")
            def changed(choices, given):
                script.write_text(f"p.add_argument('--precision', default='fp32', choices={choices})\n")
                return [one["command"][-1] for one in settings.in_command(["python", "train.py", "--precision", given], folder)]
            self.assertEqual(changed(["fp32", "bf16", "amp"], "bf16"), ["fp32", "amp"])
            self.assertEqual(changed(["fp32", "amp"], "fp32"), [])

    def test_mixed_precision_that_was_forgotten(self):
        def changed(*words):
            return [" ".join(one["command"][2:]) for one in settings.in_command(["python", "train.py", *words], folder)]
        with tempfile.TemporaryDirectory() as path:
            folder = pathlib.Path(path)
            (folder / "train.py").write_text("DTYPES = {'float16': 1, 'bfloat16': 2}\nadd('--unet_dtype', choices=DTYPES)\n"
                                             "add('--mixed_precision', choices=['no', 'fp16', 'bf16'])\n")
            (folder / "other.py").write_text("add('--precision', choices=['no', 'bf16'])\n")
            self.assertEqual(changed("--unet_dtype", "float16")[0], "--unet_dtype bfloat16 --mixed_precision bf16")
            self.assertEqual(changed("--unet_dtype=bfloat16")[0], "--unet_dtype=bfloat16 --mixed_precision bf16")
            for words in (["--unet_dtype", "float16", "--mixed_precision", "no"], ["--rank", "16"], []):
                self.assertFalse([line for line in changed(*words) if "--mixed_precision bf16" in line])

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

    def test_what_a_framework_asks_for(self):
        def advised(command, name, value, arguments, declared=()):
            advice = [{"name": name, "value": value, "arguments": arguments}]
            return [" ".join(one["command"][1:]) for one in settings.advised(["python", *command.split()], advice, {*declared})]

        self.assertEqual(advised("--model-dtype bfloat16 -b 8", "model_dtype", "bfloat16", "--amp --amp-dtype bfloat16"),
                         ["-b 8 --amp --amp-dtype bfloat16"])
        self.assertEqual(advised("--mixed_precision bf16 --full_bf16 -x 1", "full_bf16", "True", "--mixed_precision bf16"),
                         ["-x 1 --mixed_precision bf16"])
        self.assertEqual(advised("--dtype=float16 --n 3", "dtype", "*", "--dtype float32 --bf16 true"), ["--n 3 --dtype float32 --bf16 true"])
        self.assertEqual(advised("--trainer.precision=16-true", "precision", "16-true", "bf16-mixed"),
                         ["--trainer.precision=bf16-mixed"])
        self.assertEqual(advised("--mixed_precision bf16", "mixed_precision", "*", "{} --optimizer adamw_bf16"),
                         ["--mixed_precision bf16 --optimizer adamw_bf16"])
        # Who asked for something else is not advised.
        self.assertEqual(advised("--dtype float32", "dtype", "*", "--dtype float32 --bf16 true"), [])
        ours = ("--dtype float16", "dtype", "*", "--dtype float32 --bf16 true")
        self.assertEqual(advised(*ours, declared=["--dtype", "--steps"]), [])
        self.assertEqual(advised(*ours, declared=["--dtype", "--bf16"]), advised(*ours, declared=["--steps"]))
        self.assertEqual(advised(*ours), ["--dtype float32 --bf16 true"])


if __name__ == "__main__":
    unittest.main()
