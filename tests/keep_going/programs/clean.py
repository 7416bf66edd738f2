"""A launcher's child: trains under accelerate, with one mismatch if it is asked for one."""

import sys

import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(4, 2)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
for _ in range(2):
    x = torch.ones(3, 4).half() if "mismatch" in sys.argv else torch.ones(3, 4)
    y = torch.nn.functional.linear(x, model.weight)  # <- linear
    accelerator.backward(y.float().sum())
    optimizer.step()
print("weight", model.weight.sum().item())
