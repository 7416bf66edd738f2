#!/usr/bin/env python3
"""Runs `dtypecheck demo` and looks into the traces that it leaves: the broken run of a failure has its own findings and
no other, the fixed run has none.

    demo_test.py --dtypecheck BIN --train BIN [--libtorch-1-13]
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

args = None  # of the command line

# What is to be found: (rule, severity, op, odd operand, a part of the error).
MIXED_SUM = ("silent-promotion", "error", "aten::add", None, "")
FOUND = {
    "cpu-half-norm": [("cpu-half-norm", "note", "aten::native_layer_norm", "input", "")],
    "t5-fused-rmsnorm": [
        ("mixed-operands", "error", "sdxl_train::fused_rms_norm", "input", "expected scalar type Float but found Half"),
        MIXED_SUM],
    "text-encoder-half": [
        ("mixed-operands", "error", "aten::native_layer_norm", "input",
         "mixed dtype (CPU): expect parameter to have scalar type of Float"),
        MIXED_SUM],
    "float16-weights": [
        ("mixed-operands", "error", "aten::addmm", "mat1", "mat1 and mat2 must have the same dtype, but got Float and Half"),
        ("silent-promotion", "warning", "aten::cat", "tensors[1]", "")],
    "unscale-fp16-grads": [("fp16-trainable", "warning", "aten::addcdiv_", "self", ""),
                           ("lost-update", "warning", "aten::addcdiv_", "self", "")],
}
FOUND_IN_1_13 = {
    "cpu-half-norm": [
        ("cpu-half-norm", "error", "aten::native_layer_norm", "input", "\"LayerNormKernelImpl\" not implemented for 'Half'")],
    "text-encoder-half": [
        ("mixed-operands", "error", "aten::native_layer_norm", "input", "expected scalar type Float but found Half"),
        MIXED_SUM],
}


class DemoTest(unittest.TestCase):
    def setUp(self) -> None:
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = Path(work.name)

    def demo(self, *options) -> subprocess.CompletedProcess:
        command = [args.dtypecheck, "demo", "--trainer", args.train, *options]
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)

    def findings(self, run: Path) -> list[dict]:
        report = self.work / "report.json"
        command = [args.dtypecheck, "report", "--format", "json", "--fail-on", "never", "-o", report, run]
        subprocess.run(command, check=True)
        found = json.loads(report.read_text())
        self.assertTrue(found["complete"])
        self.assertGreater(found["summary"]["op_calls"], 0)
        return found["findings"]

    def check(self, name: str) -> str:
        folder = self.work / "demo"
        result = self.demo("--failure", name, "--out", folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        found = sorted(self.findings(folder / name / "broken"), key=lambda f: f["rule"])
        expected = (FOUND_IN_1_13 if args.libtorch_1_13 else FOUND)[name]
        self.assertEqual([f["rule"] for f in found], [rule for rule, *_ in expected])
        for finding, (rule, severity, op, odd, error) in zip(found, expected, strict=True):
            self.assertEqual((finding["severity"], finding["op"]), (severity, op), rule)
            if odd:
                self.assertEqual([o["name"] for o in finding["operands"] if o["odd"]], [odd], rule)
            self.assertIn(error, finding["error"] or "")
            self.assertTrue(finding["fix"] and finding["why"], rule)
        self.assertEqual(self.findings(folder / name / "fixed"), [])
        fixed = (folder / name / "fixed.log").read_text()
        if name == "t5-fused-rmsnorm":
            self.assertRegex(fixed, r"5 tokens, 32 states each, root of their mean square \d")
        else:
            self.assertEqual(re.findall(r"^step (\d)/3  loss \d+\.\d+", fixed, re.MULTILINE), ["1", "2", "3"])
        self.assertLess(len(result.stdout.splitlines()), 110, "two screens: broken and fixed")
        return (folder / name / "broken.log").read_text()

    def test_cpu_half_norm(self) -> None:
        said = "\"LayerNormKernelImpl\" not implemented for 'Half'" if args.libtorch_1_13 else "step 3/3"
        self.assertIn(said, self.check("cpu-half-norm"))

    def test_t5_fused_rmsnorm(self) -> None:
        self.assertIn("expected scalar type Float but found Half", self.check("t5-fused-rmsnorm"))

    def test_text_encoder_half(self) -> None:
        said = "expected scalar type Float but found Half" if args.libtorch_1_13 else "mixed dtype (CPU)"
        self.assertIn(said, self.check("text-encoder-half"))

    def test_float16_weights(self) -> None:
        self.assertIn("mat1 and mat2 must have the same dtype", self.check("float16-weights"))

    def test_unscale_fp16_grads(self) -> None:
        self.assertIn("step 3/3", self.check("unscale-fp16-grads"))

    def test_keep_broken(self) -> None:
        """Stops at the broken run, and leaves nothing behind."""
        result = self.demo("--failure", "text-encoder-half", "--keep-broken")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertIn("[mixed-operands]", result.stdout)
        self.assertNotIn("fixed", result.stdout)

    def test_refusals(self) -> None:
        result = self.demo("--failure", "text-encoder-hlaf")
        self.assertEqual(result.returncode, 2)
        self.assertIn("did you mean 'text-encoder-half'", result.stderr)
        (self.work / "there").write_text("")
        result = self.demo("--out", self.work)
        self.assertEqual(result.returncode, 2)
        self.assertIn("is not an empty folder", result.stderr)
        result = subprocess.run([args.dtypecheck, "demo", "--trainer", self.work / "nowhere"], check=False,
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("nowhere: is not there, and the demo trains with it", result.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True)
    parser.add_argument("--dtypecheck", required=True)
    parser.add_argument("--libtorch-1-13", action="store_true")
    args, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
