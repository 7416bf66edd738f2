"""--target and --contracts: what would be refused elsewhere, and what cannot be used."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import tool  # noqa: E402

HALF = """\
process pid=1 libtorch=2.11.0 steps=1
op aten::addmm bias=Half[320] mat1=Half[2,320] mat2=Half[320,320] -> Half[2,320] at train.py:5 main phase forward step 1
op aten::native_layer_norm input=Half[2,8] weight=Float[8] bias=Float[8] -> Half[2,8] at train.py:6 main phase forward
op mylib::own x=Half[2] -> Half[2] at train.py:7 main phase forward
"""
CONTRACTS = """\
dtypecheck contracts 1
runtime 0 npu 9.9.0 measured 2026-11-21 modes=plain
message 0 RuntimeError this one takes no {S1}
op aten::addmm self,mat1,mat2
plain 0 f=fff m0=*
end 1
"""
READ = """\
dtypecheck contracts 1
runtime 0 cuda 2.99.0 read 2026-11-21 modes=plain
message 0 RuntimeError expected scalar type {S0} but found {S1}
op aten::native_layer_norm input,weight,bias
plain 0 hff=hhh m0=hff
end 1
"""


class Target(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("half.trace", HALF)

    def refused(self, *arguments):
        result = self.run_tool("report", "half.trace", "--format", "json", *arguments)
        findings = json.loads(result.out)["findings"]
        return {f["location"]["line"]: f for f in findings if f["rule"] == "fails-on-target"}

    def test_older_libtorch_on_the_cpu(self):
        refused = self.refused("--target", "cpu:1.13")
        self.assertEqual(sorted(refused), [5, 6])
        self.assertIn("addmm_impl_cpu_", refused[5]["why"])
        self.assertEqual(refused[5]["severity"], "warning")

    def test_a_gpu(self):
        for version in ("2.1", "2.6", "2.11", "2.15"):
            refused = self.refused("--target", f"cuda:{version}")
            self.assertEqual(sorted(refused), [6])
            self.assertNotIn("not measured", refused[6]["message"])
            self.assertIn("expected scalar type Half but found Float", refused[6]["why"])

    def test_contracts_that_were_read_and_not_measured(self):
        self.write("read.contracts", READ)
        refused = self.refused("--contracts", "read.contracts", "--target", "cuda:2.99")
        self.assertEqual(sorted(refused), [6])
        self.assertIn("not measured", refused[6]["message"])

    def test_the_same_libtorch_refuses_nothing(self):
        self.assertEqual(self.refused("--target", "cpu:2.11"), {})

    def test_no_target_no_word(self):
        self.assertEqual(self.refused(), {})

    def test_the_report_says_how_far_it_reaches(self):
        result = self.run_tool("report", "half.trace", "--target", "cuda:2.11")
        self.assertIn("target cuda:2.11.0 (measured): 2 op calls known", " ".join(result.out.split()))
        self.write("read.contracts", READ)
        result = self.run_tool("report", "half.trace", "--contracts", "read.contracts", "--target", "cuda:2.99")
        self.assertIn("target cuda:2.99.0 (read in LibTorch's source, not measured): 1 op call known",
                      " ".join(result.out.split()))

    def test_unknown_targets_list_what_is_known(self):
        for target in ("cuda:1.2", "tpu:2.11", "cpu:2"):
            result = self.run_tool("report", "half.trace", "--target", target)
            self.assert_one_line(result, f"--target {target}", "cpu: 1.13.1", "2.11.0",
                                 "cuda: 2.1.2, 2.6.0, 2.11.0, 2.15.0")
        for target in ("cuda", ":", "cuda:", ":2.11", "cuda:new"):
            self.assert_one_line(self.run_tool("report", "half.trace", "--target", target),
                                 "DEVICE:VERSION")

    def test_an_unknown_target_stops_a_trace_before_it_starts(self):
        result = self.run_tool("trace", "--target", "cuda:1.2", "--", "touch", "started")
        self.assert_one_line(result, "--target cuda:1.2")
        self.assertFalse((self.work / "started").exists())

    def test_contracts_of_ones_own(self):
        self.write("npu.contracts", CONTRACTS)
        refused = self.refused("--contracts", "npu.contracts", "--target", "npu:9.9")
        self.assertEqual(sorted(refused), [5])
        self.assertIn("this one takes no Half", refused[5]["why"])

    def test_contracts_that_cannot_be_used(self):
        self.write("short.contracts", CONTRACTS[:-6])
        self.write("schema.contracts", CONTRACTS.replace("contracts 1", "contracts 7"))
        self.write("other.contracts", HALF)
        (self.work / "binary.contracts").write_bytes(bytes(range(256)) * 40)
        for name, word in (("short", "cut short"), ("schema", "schema 7, this build reads 3"),
                           ("other", "no contract file"), ("binary", "no contract file"),
                           ("missing", "cannot be read")):
            result = self.run_tool("report", "half.trace", "--contracts", f"{name}.contracts")
            self.assert_one_line(result, f"{name}.contracts", word)
        self.assert_one_line(self.run_tool("report", "half.trace", "--contracts", "."), "cannot be read")


if __name__ == "__main__":
    unittest.main()
