"""A program with torch whose libcupti is none (fake_cupti.h): its launches are told by op, and where
there is no GPU nothing of CUPTI is touched."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

DTYPECHECK, FAKE = (os.path.abspath(path) for path in sys.argv[1:3])

LAUNCHES = """
import ctypes, os, torch

cupti = ctypes.CDLL(None)
NAMES = [b"ampere_h16816gemm_128x128_ldg8_stages_32x5_nn", b"no kernel that anyone knows"]

@torch.library.custom_op("test::launch", mutates_args=())
def launch(x: torch.Tensor) -> torch.Tensor:
    cupti.fake_launch(NAMES[0], 5000)
    cupti.fake_copy(64, 100)
    return x.clone()

@torch.library.custom_op("test::other", mutates_args=())
def other(x: torch.Tensor) -> torch.Tensor:
    cupti.fake_launch(NAMES[1], 7)
    return x.clone()

x = torch.ones(4, 4, dtype=torch.half)
if os.environ.get("SEES_GPU"):
    hook = next(line.split()[-1] for line in open("/proc/self/maps") if "dtypecheck_hook" in line)
    ctypes.CDLL(hook).dtypecheck_hook_see_gpu()
for _ in range(10):
    launch(x)
other(x)
if os.environ.get("PROFILES"):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        launch(x)
    launch(x)
print("subscribed", cupti.fake_cupti_calls(b"cuptiSubscribe"))
"""


def trace(folder, *options, **variables):
    program = os.path.join(folder, "program.py")
    with open(program, "w") as file:
        file.write(LAUNCHES)
    environment = dict(os.environ, LD_PRELOAD=FAKE, PYTHONPATH="", **variables)
    done = subprocess.run([DTYPECHECK, "trace", "--no-report", "--out", os.path.join(folder, "run"), *options, "--",
                           sys.executable, program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def calls(folder):
    dump = subprocess.run([DTYPECHECK, "dump", "--format", "jsonl", os.path.join(folder, "run")], capture_output=True, text=True,
                          check=True).stdout
    return [json.loads(line) for line in dump.splitlines()]


def by_op(folder):
    """The first call of each op."""
    return {call["op"]: call for call in reversed(calls(folder)) if "op" in call}


class Traced(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="dtypecheck-test-")

    def test_kernels_belong_to_their_ops(self):
        self.assertIn("subscribed 1", trace(self.folder, "--gpu", SEES_GPU="1"))
        ops = by_op(self.folder)
        work = {one["kind"]: one for one in ops["test::launch"]["gpu"]}
        self.assertEqual((work["kernel"]["count"], work["kernel"]["time_ns"]), (10, 50000))
        self.assertTrue(work["kernel"]["name"].startswith("ampere_h16816gemm"))
        self.assertEqual((work["copy"]["count"], work["copy"]["bytes"]), (10, 640))
        self.assertEqual(ops["test::other"]["gpu"][0]["time_ns"], 7)
        report = subprocess.run([DTYPECHECK, "report", os.path.join(self.folder, "run")], capture_output=True, text=True).stdout
        self.assertIn("test::launch of Half is summed up in Half", report)

    def test_without_the_option_cupti_is_not_touched(self):
        self.assertIn("subscribed 0", trace(self.folder, SEES_GPU="1"))

    def test_without_a_gpu_cupti_is_not_touched(self):
        self.assertIn("subscribed 0", trace(self.folder, "--gpu"))
        self.assertNotIn("gpu", by_op(self.folder)["test::launch"])

    def test_a_profiler_is_left_alone(self):
        trace(self.folder, "--gpu", SEES_GPU="1", PROFILES="1")
        work = [one for one in by_op(self.folder)["test::launch"]["gpu"] if one["kind"] == "kernel"]
        self.assertEqual(work[0]["count"], 10)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
