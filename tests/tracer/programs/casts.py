"""Casts of known sizes, asked for and by autocast. With COUNT set it prints what a dispatch mode sees of them in the steps."""
import os

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Count(TorchDispatchMode):
    casts = bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        is_cast = func is torch.ops.aten._to_copy.default or func is torch.ops.aten.copy_.default
        source = args[1] if func is torch.ops.aten.copy_.default else args[0]
        if is_cast and source.dtype != result.dtype:
            Count.casts += 1
            Count.bytes += source.numel() * (source.element_size() + result.element_size())
        return result


torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 48), torch.nn.ReLU(), torch.nn.Linear(48, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
kept = [torch.empty(n, 3, dtype=torch.half) for n in (2, 5, 11)]


def step(batch):
    x = torch.randn(batch, 64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = model(x)  # <- autocast
    loss = y.float().pow(2).mean()  # <- asked
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    for one in kept:  # one line, three sizes
        one.copy_(torch.ones_like(one, dtype=torch.float))  # <- copied


def steps():
    for batch in (4, 8, 12, 16) * 8:
        step(batch)


if os.environ.get("COUNT"):
    with Count():
        steps()
    print(Count.casts, Count.bytes)
else:
    steps()
