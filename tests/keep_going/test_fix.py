"""Programs under `dtypecheck trace --fix`: what LibTorch refuses is computed as in Float and rounded once; the rest is untouched."""

import json
import os
import pathlib
import re
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "tracer")]

import torch  # noqa: E402
import traced  # noqa: E402
from traced import TracedTest  # noqa: E402

PROGRAMS = FOLDER / "programs"
# What needs a change of the program: Python code of torch refuses before any op is called.
REFUSED_BY_PYTHON = re.compile(r"foreach, gradient|fused, gradient|(GRU|LSTM|RNN), input|GradScaler|p\.grad")


class Fix(TracedTest):
    @classmethod
    def fix(cls, *command):
        return cls.traced_command([cls.interpreter, *command], ["--fix"])


class Served(Fix):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = cls.fix(PROGRAMS / "fixed.py")
        cls.line = traced.marked_line(PROGRAMS / "fixed.py", "served")

    def test_results_and_gradients_are_those_of_float_rounded_once(self):
        self.assertEqual(self.done.status, 0, self.done.err)
        said = self.done.printed()
        for name, dtype in {"linear_half_weight": "float32", "linear_half_input": "float16",
                            "conv_half_input": "float16", "matmul": "float16",
                            "layer_norm": "float32", "slow_linear": "float16",
                            "slow_conv": "float16", "checkpoint": "float32"}.items():
            self.assertEqual(said[name], [dtype, "True"], name)

    def test_what_is_written_is_the_tensor_that_was_given(self):
        said = self.done.printed()
        self.assertEqual((said["in_place"], said["out"], said["view"]),
                         (["True", "True"], ["True"], ["True", "False"]))

    def test_what_no_cast_makes_right_is_refused_as_always(self):
        said = {name: " ".join(words) for name, words in self.done.printed().items()}
        self.assertIn("shapes cannot be multiplied", said["shapes"])
        self.assertIn("Attempting to unscale FP16 gradients", said["scaler"])
        self.assertRegex(said["recurrent"], "dtype|type")

    def test_the_report_says_what_was_served_and_that_results_are_valid(self):
        self.assertTrue(self.done.run.report["results_valid"])
        found = [f for f in self.done.run.findings("mixed-operands")
                 if f["location"]["line"] == self.line and f["op"] in ("aten::linear", "aten::addmm")]
        self.assertTrue(found, self.done.run.text())
        for finding in found:
            self.assertEqual(finding["outcome"], "served")
            self.assertIn("must have the same dtype", finding["error"])
            self.assertTrue(finding["fix"])
        text = self.done.run.text()
        self.assertIn("served by --fix", text)
        for served in ("aten::(linear|addmm) by kernels", "aten::conv2d by kernels", "aten::native_layer_norm by kernels",
                       "aten::addmm_ by LibTorch"):
            self.assertRegex(" ".join(text.split()), r"\d+ " + served)
        self.assertNotIn("not valid", text + self.done.said)

    def test_what_is_slow_in_half_is_a_note(self):
        found = self.done.run.findings("cpu-half-product")
        if not found:
            self.skipTest("this processor has arithmetic in Half")
        self.assertEqual({(f["location"]["line"], f["outcome"]) for f in found},
                         {(self.line, "served")})


class Pairs(Fix):
    """The families of the table of README.md, with every pair of Float and Half: quick."""

    dtypes, untouched, served = "fh", 100, 50

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = cls.fix(FOLDER / "table.py", cls.dtypes)
        if done.status != 0:
            raise AssertionError(done.err)
        cls.rows = json.loads(done.out)["rows"]

    def test_no_result_gradient_or_written_argument_is_wrong(self):
        self.assertEqual({key: row["wrong"] for key, row in self.rows.items() if row["wrong"]}, {})

    def test_what_needed_no_fix_is_bit_identical(self):
        """All that LibTorch takes, but for products in Half."""
        untouched = {key: row["same"] for key, row in self.rows.items()
                     if not row["refusal"] and not row["failure"] and not key.endswith("|hh")}
        self.assertGreater(len(untouched), self.untouched)
        self.assertEqual([key for key, same in untouched.items() if not same], [])

    def test_what_is_refused_is_refused_as_without_us(self):
        for key, row in self.rows.items():
            if row["failure"]:
                self.assertEqual(row["failure"], row["refusal"], key)

    def test_much_is_served(self):
        served = [key for key, row in self.rows.items() if row["refusal"] and not row["failure"]]
        self.assertGreater(len(served), self.served)

    def test_python_code_refuses_as_always(self):
        refused = {key.split("|")[0] for key, row in self.rows.items() if row["failure"]}
        self.assertTrue(any(REFUSED_BY_PYTHON.search(name) for name in refused), refused)


class Table(Pairs):
    """With every pair of dtypes."""

    dtypes, untouched, served = "fhbd", 400, 1000


class Training(Fix):
    """docs/fix.md states the distance that is asserted here."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = os.environ["TINY_SDXL"]
        cls.program = PROGRAMS / "fp16_training.py"

    def plain(self, dtype, out):
        return self.execute([self.interpreter, self.program, self.model, dtype, self.folder / out])

    def test_a_run_that_dies_ends_with_weights_close_to_those_of_float(self):
        died = self.plain("float16", "half")
        self.assertNotEqual(died.status, 0)
        self.assertIn("must have the same dtype", died.err)
        self.assertEqual(self.plain("float32", "float").status, 0)
        done = self.fix(self.program, self.model, "float16", self.folder / "fixed")
        self.assertEqual(done.status, 0, done.err)
        wanted, got = (torch.load(self.folder / name) for name in ("float", "fixed"))
        distance = update = size = 0.0
        for name, (start, end) in wanted.items():
            ours = got[name][1]
            self.assertEqual(ours.dtype, torch.float32)
            self.assertTrue(torch.isfinite(ours).all(), name)
            distance += (ours - end).double().square().sum().item()
            update += (end - start).double().square().sum().item()
            size += end.double().square().sum().item()
        self.assertLess((distance / update)**0.5, 0.25)
        self.assertLess((distance / size)**0.5, 1e-3)

    def test_a_run_without_a_mismatch_is_bit_identical(self):
        self.plain("float32", "plain")
        done = self.fix(self.program, self.model, "float32", self.folder / "traced")
        self.assertEqual(done.status, 0, done.err)
        plain, fixed = (torch.load(self.folder / name) for name in ("plain", "traced"))
        for name, (_, end) in plain.items():
            self.assertTrue(torch.equal(end, fixed[name][1]), name)


if __name__ == "__main__":
    unittest.main()
