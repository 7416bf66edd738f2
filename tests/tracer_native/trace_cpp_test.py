#!/usr/bin/env python3
"""Traces the LibTorch example program, and looks in the JSON report for the user's lines.

The lines are those of trainer.cpp that hold the given code, so that the test survives an edit there.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TRAINER = HERE.parents[1] / "examples" / "cpp_trainer" / "trainer.cpp"
DEBUG_BUILD = HERE / "debug_build.cpp"
options = argparse.Namespace()

sys.path.insert(0, str(HERE.parent))
from common import clean_environment, only_line  # noqa: E402


def line_of(code, source=TRAINER):
    return only_line(source, re.escape(code))


class TraceCpp(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dtypecheck-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = clean_environment()

    def trace(self, program, *arguments):
        report = self.folder / "report.json"
        command = [options.dtypecheck, "trace", "--out", self.folder / "run", "--format", "json",
                   "-o", report, "--",
                   program, *arguments]
        self.process = subprocess.run(command, cwd=self.folder, env=self.environment,
                                      capture_output=True, text=True)
        self.assertTrue(report.exists(), self.process.stderr)
        return json.loads(report.read_text())

    def only_finding(self, report, rule):
        found = [finding for finding in report["findings"] if finding["rule"] == rule]
        self.assertEqual(len(found), 1, json.dumps(report["findings"], indent=1))
        return found[0]

    def assert_at(self, site, code, function, source=TRAINER):
        self.assertEqual((pathlib.Path(site["file"]).name, site["line"]),
                         (source.name, line_of(code, source)), site)
        self.assertEqual(site["function"], function)

    def test_clean_run_has_no_error(self):
        report = self.trace(options.trainer, "--dtype", "bfloat16", "--steps", "3")
        self.assertEqual(self.process.returncode, 0, self.process.stderr)
        self.assertEqual([f for f in report["findings"] if f["severity"] != "note"], [])
        self.assertGreater(report["summary"]["op_calls"], 500)
        self.assertTrue(report["complete"])

    def test_all_of_a_step_is_the_optimizers(self):
        self.trace(options.trainer, "--steps", "3")
        command = [options.dtypecheck, "dump", "--format", "jsonl", self.folder / "run"]
        dump = subprocess.run(command, capture_output=True, text=True, check=True)
        calls = [json.loads(line) for line in dump.stdout.splitlines()]
        in_step = [call for call in calls
                   if call["location"].get("line") == line_of("optimizer.step()")]
        self.assertIn("aten::sqrt", {call["op"] for call in in_step})
        self.assertEqual({call["location"]["phase"] for call in in_step}, {"optimizer"})
        losses = [call for call in calls if call["location"].get("line") == line_of(".backward()")]
        self.assertNotIn("optimizer", {call["location"]["phase"] for call in losses})

    def test_tracing_changes_no_number(self):
        command = [options.trainer, "--dtype", "bfloat16", "--steps", "3"]
        untraced = subprocess.run(command, env=self.environment, capture_output=True, text=True,
                                  check=True)
        self.trace(*command)
        self.assertEqual(self.process.stdout, untraced.stdout)

    def test_text_in_another_dtype(self):
        report = self.trace(options.trainer, "--dtype", "half", "--text_dtype", "float")
        self.assertEqual(self.process.returncode, 1)
        finding = self.only_finding(report, "mixed-operands")
        self.assertEqual(finding["severity"], "error")
        self.assertEqual(finding["op"], "aten::mm")
        self.assertEqual(sorted(o["dtype"] for o in finding["operands"]), ["Float", "Half"])
        self.assert_at(finding["location"], "return base(x)", "LoraLinearImpl::forward")
        # The text comes from the encoder's last layer, the weight from the cast in prepare().
        origins = {o["dtype"]: o["origin"][0] for o in finding["operands"]}
        self.assertEqual(origins["Float"]["line"], line_of("projection(norm(embedded))"))
        self.assertEqual(origins["Half"]["line"], line_of(".set_data(named.value().to(dtype))"))

    def test_functions_of_headers_that_were_not_inlined(self):
        report = self.trace(options.debug_build)
        finding = self.only_finding(report, "mixed-operands")
        self.assert_at(finding["location"], "// at: project", "project", DEBUG_BUILD)
        half = next(o for o in finding["operands"] if o["dtype"] == "Half")
        self.assertEqual(half["origin"][0]["line"], line_of("// at: cast", DEBUG_BUILD))

    def test_half_layer_norm_of_libtorch_1_13(self):
        if not options.debian:
            self.skipTest("needs libtorch-dev")
        report = self.trace(options.debian, "--dtype", "half")
        if not report["runtime"]["libtorch"].startswith("1.13"):
            self.skipTest(f"needs LibTorch 1.13, libtorch-dev is {report['runtime']['libtorch']}")
        self.assertEqual(self.process.returncode, 1)
        finding = self.only_finding(report, "cpu-half-norm")
        self.assertEqual(finding["severity"], "error")
        self.assertEqual(finding["op"], "aten::native_layer_norm")
        self.assertEqual(finding["error"], "\"LayerNormKernelImpl\" not implemented for 'Half'")
        self.assert_at(finding["location"], "projection(norm(embedded))",
                       "TextEncoderImpl::forward")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtypecheck", required=True)
    parser.add_argument("--trainer", required=True,
                        help="cpp_trainer, against the wheel's LibTorch")
    parser.add_argument("--debug-build", required=True, help="debug_build.cpp")
    parser.add_argument("--debian", help="the same against that of libtorch-dev")
    options, rest = parser.parse_known_args(namespace=options)
    if not options.debian:
        print("skipped: the half layer norm of LibTorch 1.13 needs libtorch-dev", file=sys.stderr)
    unittest.main(argv=[sys.argv[0], *rest])
