"""Programs on the pretended GPU, by LibTorch's own CUDA code: their kernels are reported by op. Where there is no GPU, or no driver
that CUPTI can use, nothing of CUPTI is touched."""

import collections
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

DTYPECHECK, DRIVER_WITHOUT_TABLES = (os.path.abspath(path) for path in sys.argv[1:3])
PRETENDED = pathlib.Path(DTYPECHECK).parents[1] / "libexec/dtypecheck/pretended"
PROGRAMS = pathlib.Path(__file__).parent / "programs"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import clean_environment  # noqa: E402
from fork_server import python  # noqa: E402

ON_GPU = {"LD_PRELOAD": f"{PRETENDED}/libcuda.so.1:{PRETENDED}/libnvidia-ml.so.1", "TORCH_CUDNN_V8_API_DISABLED": "1"}


class Traced(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dtypecheck-test-")
        self.addCleanup(folder.cleanup)
        self.run_folder = os.path.join(folder.name, "run")

    def run_program(self, command, **variables):
        environment = clean_environment("CUDA_VISIBLE_DEVICES") | ON_GPU | variables
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)

    def trace(self, program, *options, status=0, **variables):
        done = self.run_program([DTYPECHECK, "trace", "--no-report", "--out", self.run_folder, *options, "--", python(),
                                 PROGRAMS / program], **variables)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def dump(self, form):
        return subprocess.run([DTYPECHECK, "dump", "--format", form, self.run_folder], capture_output=True, text=True,
                              check=True).stdout

    def calls(self):
        return [json.loads(line) for line in self.dump("jsonl").splitlines()]

    def kernels(self):
        """(op, device) to how many, by the kernel's name."""
        found = collections.defaultdict(collections.Counter)
        for call in self.calls():
            for work in call.get("gpu", ()):
                if work["kind"] == "kernel":
                    found[call["op"], work["device"]][work["name"]] += work["count"]
        return found

    def count(self, op, device=0):
        return sum(self.kernels()[op, device].values())

    def fact(self, name="gpu"):
        report = subprocess.run([DTYPECHECK, "report", "--format", "json", self.run_folder], capture_output=True, text=True).stdout
        return json.loads(report)["processes"][0]["facts"].get(name)


class Ops(Traced):
    def test_each_kernel_is_where_the_profiler_sees_it(self):
        done = self.run_program([python(), PROGRAMS / "kernels.py", "profiler"])
        self.assertEqual(done.returncode, 0, done.stderr)
        theirs = json.loads(done.stdout.splitlines()[-1])
        self.trace("kernels.py")
        ours = self.kernels()
        names = sorted({name for kernels in ours.values() for name in kernels})
        plain = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.splitlines()
        plain_names = dict(zip(names, plain, strict=True))
        left = collections.Counter({(op, plain_names[name]): count for (op, _), kernels in ours.items()
                                    for name, count in kernels.items()})
        self.assertGreater(len(left), 20)
        # It is at the op that launched it, or at what called that, where that is no call of its own.
        seen = [(name, [op for op in ops if left[op, name] > 0], ops) for name, ops in theirs]
        for name, places, ops in sorted(seen, key=lambda kernel: len(kernel[1])):
            op = next((op for op in places if left[op, name] > 0), None)
            self.assertIsNotNone(op, f"{name} is at none of {ops}")
            left[op, name] -= 1
        self.assertEqual(+left, {})

    def test_what_ran_how_often_and_how_long(self):
        self.trace("launches.py", "--timeline", "1")
        work = [(call["op"], work) for call in self.calls() for work in call.get("gpu", ())]
        found = {(op, one["kind"], one["count"], one["time_ns"]) for op, one in work}
        self.assertTrue({("aten::exp", "kernel", 10, 50000), ("aten::sin", "kernel", 1, 5000)} <= found, found)
        self.assertEqual(self.fact(), "recorded")
        kernels = [event for event in json.loads(self.dump("perfetto"))["traceEvents"] if event.get("cat") == "kernel"]
        self.assertEqual(len(kernels), 11)
        self.assertEqual((kernels[0]["args"]["op"], kernels[0]["dur"], kernels[0]["tid"]), ("aten::exp Half", 5, 7))

    def test_of_devices_and_streams(self):
        self.trace("places.py", "--timeline", "1", DTYPECHECK_PRETENDED_GPUS="2")
        self.assertEqual([self.count("aten::exp"), self.count("aten::sin"), self.count("aten::cos"), self.count("aten::cos", 1)],
                         [2, 1, 0, 1])
        streams = collections.defaultdict(set)
        for event in json.loads(self.dump("perfetto"))["traceEvents"]:
            if event.get("cat") == "kernel":
                streams[event["args"]["op"].split()[0]].add((event["pid"], event["tid"]))
        self.assertEqual(len(streams["aten::exp"]), 1)
        self.assertEqual(len(set.union(*(streams[op] for op in ("aten::exp", "aten::sin", "aten::cos")))), 3)

    def test_a_trace_does_not_grow_with_the_run(self):
        sizes = []
        for launches in ("100", "10000"):
            self.trace("launches.py", LAUNCHES=launches)
            (file,) = pathlib.Path(self.run_folder).glob("*.dtrace")
            sizes.append(file.stat().st_size)
            shutil.rmtree(self.run_folder)
        self.assertEqual(*sizes)


class Preflight(Traced):
    def preflight(self, program, *options, **variables):
        done = self.run_program([DTYPECHECK, "preflight", "--let-write", "--out", self.run_folder, *options, "--", python(),
                                 PROGRAMS / program], LD_PRELOAD="", **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"on a pretended sm_80 \(A100\), \d steps: no findings")
        return done

    def test_kernels_of_a_graph_belong_to_the_ops_of_its_capture(self):
        stepped = self.preflight("graphs.py").stdout.count("stepped")
        self.assertEqual([self.count("aten::exp"), self.count("aten::sin"), self.count("aten::cos")], [3, 3, 1])
        self.assertEqual((stepped, self.count("aten::gelu")), (3, 3 + 3))  # it is warmed up three times


    @unittest.skipIf(importlib.util.find_spec("triton") is None, "no Triton here")
    def test_kernels_of_triton_belong_to_their_region(self):
        done = self.preflight("compiles.py", "--compile", "--steps", "2", TORCHINDUCTOR_COMPILE_THREADS="1")
        self.assertNotIn("all runs eagerly", done.stderr)
        self.assertEqual(self.kernels()["compiled::inductor_forward_0", 0], {"triton_poi_fused_gelu_0": 2})
        self.assertIn("torch.compile computes ops of BFloat16 in Float, and rounds what a kernel stores, where eager rounds "
                      "after each: aten::mul", " ".join(done.stderr.split()))


class Errors(Traced):
    def test_a_kernel_that_asserts_is_reported_late(self):
        self.assertEqual(self.trace("asserts.py", status=1), "went on\n")
        done = subprocess.run([DTYPECHECK, "report", self.run_folder], capture_output=True, text=True)
        said = " ".join(done.stdout.split())
        self.assertIn("device-side assert triggered", said)
        self.assertIn("CUDA reports it late: a kernel that was launched earlier failed, not the op of the traceback; in flight, and "
                      "given indices, may have been aten::embedding", said)
        self.assertEqual([self.count("aten::exp"), self.count("aten::index_select") + self.count("aten::embedding")], [1, 0])


class Others(Traced):
    def test_a_profiler_is_left_alone_and_recording_goes_on_after_it(self):
        self.trace("launches.py", PROFILES="CPU", ENDS="1")
        self.assertEqual(self.count("aten::exp"), 10 + 5)
        self.assertRegex(self.fact(), r"^recorded but for steps 1")

    def test_one_that_takes_cupti_takes_records_with_it(self):
        for kinds, recorded in (("CPU CUDA", 5), ("CUDA", 0)):  # no one sees that the second begins
            self.trace("launches.py", PROFILES=kinds, ENDS="1")
            self.assertIn(self.count("aten::exp"), range(recorded, recorded + 10))  # of the first ten the last are gone
            self.assertEqual(self.fact("gpu.dropped"), "1")
            shutil.rmtree(self.run_folder)

    def test_recordings_in_turns_have_kernels_of_their_own(self):
        self.trace("launches.py", TURNS="1")
        counts = [work["count"] for call in self.calls() if call["op"] == "aten::exp" for work in call["gpu"]]
        self.assertEqual(sorted(counts), [1, 10])


class NotThere(Traced):
    def test_where_it_is_not_wanted_cupti_is_not_touched(self):
        self.assertIn("stage 3 is not there", self.trace("launches.py", "--no-gpu"))

    def see_gpu(self, preload):
        """In a program whose CUPTI is NVIDIA's."""
        text = ("import ctypes, torch; torch.ones(1); "
                "maps = open('/proc/self/maps').read().splitlines(); "
                "print('there' if 'dtypecheck_gpu_recorder' in str(maps) else 'not there'); "
                "ctypes.CDLL(next(line.split()[-1] for line in maps if 'dtypecheck_hook' in line)).dtypecheck_hook_see_gpu(); "
                "print('went on')")
        done = self.run_program([DTYPECHECK, "trace", "--no-report", "--out", self.run_folder, "--", sys.executable, "-c", text],
                                LD_PRELOAD=preload)
        self.assertEqual((done.returncode, done.stdout), (0, "not there\nwent on\n"), done.stderr)
        return self.fact()

    def test_without_a_gpu_or_a_driver_that_cupti_can_use_it_is_not_touched(self):
        for preload in ("", DRIVER_WITHOUT_TABLES):
            shutil.rmtree(self.run_folder, ignore_errors=True)
            self.assertEqual(self.see_gpu(preload), "this program has no CUDA driver in it that CUPTI can use; ops are recorded "
                                                    "without the GPU's kernels")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
