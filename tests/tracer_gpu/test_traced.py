"""A program with torch whose libcupti is none (fake_cupti.h): its launches are told by op, and where
there is no GPU nothing of CUPTI is touched."""

import json
import os
import pathlib
import shutil
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
    hook = ctypes.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if "dtypecheck_hook" in line))
    hook.dtypecheck_hook_see_gpu()
layer = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

def step():
    layer(torch.ones(1, 4)).sum().backward()
    optimizer.step()

layer(torch.ones(1, 4))  # training begins
for _ in range(int(os.environ.get("LAUNCHES", 10))):
    launch(x)
other(x)
if os.environ.get("PROFILES"):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        launch(x)
    launch(x)
    if os.environ["PROFILES"] == "and ends":
        step()
        for _ in range(5):
            launch(x)
if os.environ.get("TURNS"):
    hook.dtypecheck_hook_suspend(b"")
    launch(x)  # between two recordings
    assert hook.dtypecheck_hook_resume() == 0
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
        self.assertIn("subscribed 1", trace(self.folder, SEES_GPU="1"))
        ops = by_op(self.folder)
        work = {one["kind"]: one for one in ops["test::launch"]["gpu"]}
        self.assertEqual((work["kernel"]["count"], work["kernel"]["time_ns"]), (10, 50000))
        self.assertTrue(work["kernel"]["name"].startswith("ampere_h16816gemm"))
        self.assertEqual((work["copy"]["count"], work["copy"]["bytes"]), (10, 640))
        self.assertEqual(ops["test::other"]["gpu"][0]["time_ns"], 7)
        report = subprocess.run([DTYPECHECK, "report", os.path.join(self.folder, "run")], capture_output=True, text=True).stdout
        self.assertIn("test::launch of Half is summed up in Half", report)

    def test_where_it_is_not_wanted_cupti_is_not_touched(self):
        self.assertIn("subscribed 0", trace(self.folder, "--no-gpu", SEES_GPU="1"))

    def test_without_a_gpu_cupti_is_not_touched(self):
        self.assertIn("subscribed 0", trace(self.folder))
        self.assertNotIn("gpu", by_op(self.folder)["test::launch"])

    def test_a_profiler_is_left_alone(self):
        trace(self.folder, SEES_GPU="1", PROFILES="1")
        work = [one for one in by_op(self.folder)["test::launch"]["gpu"] if one["kind"] == "kernel"]
        self.assertEqual(work[0]["count"], 10)

    def test_recording_goes_on_after_a_profiler(self):
        self.assertIn("subscribed 2", trace(self.folder, SEES_GPU="1", PROFILES="and ends"))
        work = [one for call in calls(self.folder) if call["op"] == "test::launch" for one in call.get("gpu", ())
                if one["kind"] == "kernel"]
        self.assertEqual(sum(one["count"] for one in work), 15)
        report = subprocess.run([DTYPECHECK, "report", "--format", "json", os.path.join(self.folder, "run")],
                                capture_output=True, text=True).stdout
        self.assertRegex(json.loads(report)["processes"][0]["facts"]["gpu"], r"^recorded but for steps 1")

    def test_recordings_in_turns_have_kernels_of_their_own(self):
        trace(self.folder, SEES_GPU="1", TURNS="1")
        counts = [(one["name"][:6], one["count"]) for call in calls(self.folder) for one in call.get("gpu", ())
                  if one["kind"] == "kernel"]
        self.assertEqual(sorted(counts), [("ampere", 1), ("ampere", 10), ("no ker", 1)])

    def test_a_trace_does_not_grow_with_the_run(self):
        sizes = []
        for launches in ("100", "10000"):
            trace(self.folder, SEES_GPU="1", LAUNCHES=launches)
            (file,) = pathlib.Path(self.folder, "run").glob("*.dtrace")
            sizes.append(file.stat().st_size)
            shutil.rmtree(os.path.join(self.folder, "run"))
        self.assertEqual(*sizes)

    def test_time_line(self):
        trace(self.folder, "--timeline", "1", SEES_GPU="1")
        written = subprocess.run([DTYPECHECK, "dump", "--format", "perfetto", os.path.join(self.folder, "run")],
                                 capture_output=True, text=True, check=True).stdout
        kernels = [event for event in json.loads(written)["traceEvents"] if event.get("cat") == "kernel"]
        self.assertEqual(len(kernels), 11)
        self.assertEqual((kernels[0]["args"]["op"], kernels[0]["dur"], kernels[0]["tid"]), ("test::launch Half", 5, 7))
        self.assertIn("Half x Half + Half", kernels[0]["args"]["arithmetic"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
