"""dtypecheck dump: text that reads back, and one JSON object an op call."""

import json
import unittest

import tool

CALLS = """\
process pid=7 rank=1 libtorch=2.11.0 python=3.11.7 steps=2
op aten::_to_copy self=Float[2,320] dtype:=Half -> Half[2,320] at train.py:1042 main step 1
op aten::addmm bias=Float[320]%net.bias mat1=Half[2,320]<#1 mat2=Float[320,1280]^^ alpha:=1 raised "a \\"quoted\\" text" c10::Error at train.py:1065 main inside lib.py:3 forward in net.linear (Linear) phase forward step 1-2 count 3 throws 3 autocast cpu:BFloat16 inner parent #1
"""

MIX = """\
op aten::ones -> Float[2,320] at data.py:3
op aten::addmm self=Float[320]%net.bias mat1=Half[2,320]<#1 mat2=Float[320,1280]^^ alpha:=1 raised "mat1 and mat2 must have the same dtype, but got Half and Float" c10::Error at train.py:1065 main in net.linear (Linear) phase forward step 1-2 count 3 throws 3 autocast cpu:BFloat16
"""


class Dump(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("run.trace", CALLS)

    def test_text_reads_back_as_the_same(self):
        once = self.run_tool("dump", "run.trace")
        self.assertEqual((once.status, once.err), (0, ""))
        self.write("again.trace", once.out)
        self.assertEqual(self.run_tool("dump", "again.trace").out, once.out)

    def test_json_lines(self):
        result = self.run_tool("dump", "run.trace", "--format", "jsonl")
        self.assertEqual(result.status, 0)
        cast, addmm = map(json.loads, result.out.splitlines())
        self.assertEqual((cast["op"], cast["scalars"], cast["outcome"]), ("aten::_to_copy", {"dtype": "Half"}, "returned"))
        self.assertEqual(cast["results"][0]["dtype"], "Half")
        self.assertEqual([o["name"] for o in addmm["operands"]], ["bias", "mat1", "mat2"])
        self.assertEqual([o["dtype"] for o in addmm["operands"]], ["Float", "Half", "Float"])
        self.assertEqual(addmm["operands"][0]["parameter"], "net.bias")
        self.assertEqual(addmm["operands"][1]["origin_id"], 1)
        self.assertTrue(addmm["operands"][2]["leaf"])
        self.assertEqual(addmm["operands"][1]["shape"], [2, 320])
        self.assertEqual((addmm["outcome"], addmm["error"]), ("threw", 'a "quoted" text'))
        location = addmm["location"]
        inner = location.pop("inner")
        self.assertEqual(location, {
            "file": "train.py", "line": 1065, "function": "main", "module": "net.linear",
            "module_class": "Linear", "phase": "forward", "step": 1})
        self.assertEqual(inner["file"], "lib.py")
        self.assertEqual((addmm["count"], addmm["throws"], addmm["parent_id"]), (3, 3, 1))
        self.assertEqual((addmm["last_step"], addmm["pid"]), (2, 7))
        self.assertEqual(addmm["autocast_call"], "inner")
        self.assertEqual(addmm["autocast"], {"cpu": "BFloat16"})

    def test_json_lines_say_which_processes_made_a_call(self):
        self.write("ranks.trace", "process pid=7 rank=0\nop aten::relu self=Half[2] -> Half[2] count 7 by 0-1x3-4\nprocess pid=8 rank=1\n")
        (call,) = map(json.loads, self.run_tool("dump", "ranks.trace", "--format", "jsonl").out.splitlines())
        self.assertEqual(call["made_by"], [{"first": 0, "last": 1, "least": 3, "most": 4}])

    def test_no_time_line_without_times(self):
        self.write("untimed.trace", "process pid=7\nop aten::relu self=Half[2] -> Half[2] count 5\n")
        self.assert_one_line(self.run_tool("dump", "untimed.trace", "--format", "perfetto", "-o", "out.json"), "trace --timeline 3")
        self.assertFalse((self.work / "out.json").exists())

    def test_time_line_of_ops_and_kernels(self):
        self.write("timed.trace", "process pid=7 rank=1\n"
                   'op aten::mm self=Half[8,8]@cuda:0 -> Half[8,8]@cuda:0 at train.py:3 gpu kernel 0 1 900 0 "ampere_h16816gemm_128x128_nn"\n'
                   "time #1 1 1 1795356682172914926 2500\n"
                   'gpu-time #1 kernel 0 7 1795356682172916926 900 "ampere_h16816gemm_128x128_nn"\n'
                   "gpu-time none copy 0 8 1795356682172917926 100\n")
        events = json.loads(self.run_tool("dump", "timed.trace", "--format", "perfetto").out)["traceEvents"]
        slices = {event["cat"]: event for event in events if event["ph"] == "X"}
        self.assertEqual((slices["op"]["ts"], slices["op"]["dur"], slices["op"]["args"]["line"]), (0, 2.5, "train.py:3"))
        self.assertEqual((slices["kernel"]["ts"], slices["kernel"]["tid"], slices["kernel"]["args"]["op"]), (2, 7, "aten::mm Half"))
        self.assertTrue(slices["kernel"]["args"]["arithmetic"].startswith("Half x Half + Half"))
        self.assertEqual((slices["copy"]["name"], slices["copy"]["ts"]), ("copy", 3))
        self.assertIn("GPU 0 of process (rank 1, pid 7)", {event["args"].get("name") for event in events})

    def test_keys_are_those_of_the_report(self):
        """Who reads the op calls of a report can read these: the same keys, the same values."""
        self.write("mix.trace", MIX)
        line = json.loads(self.run_tool("dump", "mix.trace", "--format", "jsonl").out.splitlines()[1])
        report = json.loads(self.run_tool("report", "mix.trace", "--format", "json").out)
        finding = next(f for f in report["findings"] if f["op"] == "aten::addmm")
        own = {"id", "last_step", "throws", "autocast_entered", "compiled", "parent_id",
               "follows_id", "pid"}
        self.assertLessEqual(set(line) - own, set(finding))
        for key in set(line) - own - {"operands", "results", "location"}:
            self.assertEqual(line[key], finding[key], key)
        self.assertEqual(line["location"].items() - finding["location"].items(), set())
        for mine, other in zip(line["operands"], finding["operands"], strict=True):
            self.assertLessEqual(set(mine) - {"origin_id"}, set(other))
            for key in set(mine) - {"origin_id"}:
                self.assertEqual(mine[key], other[key], key)

    def test_two_files_become_one_run(self):
        result = self.run_tool("dump", "run.trace", "run.trace", "--format", "jsonl")
        calls = list(map(json.loads, result.out.splitlines()))
        self.assertEqual([c["id"] for c in calls], [1, 2, 3, 4])
        self.assertEqual([c["process"] for c in calls], [0, 0, 1, 1])
        self.assertEqual(calls[3]["parent_id"], 3)
        self.assertEqual(calls[3]["operands"][1]["origin_id"], 3)

    def test_bytes_that_are_no_utf8(self):
        (self.work / "bytes.trace").write_bytes(b'process pid=1\nop aten::mm self=Half[1] raised "\\xff\\x00" E at a.py:1\n')
        result = self.run_tool("dump", "bytes.trace", "--format", "jsonl")
        self.assertEqual(result.status, 0, result.err)
        self.assertEqual(json.loads(result.out)["op"], "aten::mm")

    def test_bad_input(self):
        self.assert_one_line(self.run_tool("dump"), "INPUT")
        self.assert_one_line(self.run_tool("dump", "none.trace"), "none.trace", "No such file")
        self.write("bad.trace", "process pid=1\nop\n")
        self.assert_one_line(self.run_tool("dump", "bad.trace"), "bad.trace", "2")

    def test_what_can_be_read_is_read(self):
        result = self.run_tool("dump", "none.trace", "run.trace")
        self.assertEqual(result.status, 2)
        self.assertIn("none.trace", result.err)
        self.assertIn("aten::addmm", result.out)


if __name__ == "__main__":
    unittest.main()
