"""Ops that are called so often: an exponential ten times, a sine once; and what the environment asks for besides."""
import ctypes
import os

import torch

cuda = ctypes.CDLL("libcuda.so.1")
cuda.dtypecheck_pretended_work_takes(ctypes.c_uint64(5000))
x = torch.ones(4, 4, dtype=torch.half, device="cuda")
layer = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)


def step():
    layer(torch.ones(1, 4)).sum().backward()
    optimizer.step()


layer(torch.ones(1, 4))  # training begins
for _ in range(int(os.environ.get("LAUNCHES", 10))):
    x.exp()
x.sin()
if os.environ.get("PROFILES"):
    kinds = os.environ["PROFILES"].split()
    with torch.profiler.profile(activities=[getattr(torch.profiler.ProfilerActivity, kind) for kind in kinds]):
        x.exp()
    x.exp()
    if os.environ.get("ENDS"):
        step()
        for _ in range(5):
            x.exp()
if os.environ.get("TURNS"):
    hook = ctypes.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if "dtypecheck_hook" in line))
    hook.dtypecheck_hook_suspend(b"")
    x.exp()  # between two recordings
    assert hook.dtypecheck_hook_resume() == 0
    x.exp()
print("stage 3 is", "there" if "dtypecheck_gpu_recorder" in open("/proc/self/maps").read() else "not there")
