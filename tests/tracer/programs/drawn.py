"""Draws in each way, by the seed and the dtype of the command line; a third word draws something of other sizes as well."""

import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(int(sys.argv[1]))
dtype = getattr(torch, sys.argv[2])
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 8)).to(dtype)
for step in range(2):
    if len(sys.argv) > 3:
        torch.rand(3, 5)
    x = torch.randn(16, 8, dtype=dtype)
    noise = torch.randn_like(x).t().contiguous().t()
    order = torch.randperm(16)
    noise[:4].t().uniform_()
    loss = F.mse_loss(net(x[order] + noise).float(), noise.float())
    loss.backward()
    print(f"loss{step}", loss.item())
    print(f"drawn{step}", torch.randint(0, 9, (3,)).tolist(), torch.bernoulli(torch.full((4,), 0.5)).tolist(), torch.empty(0).uniform_().tolist())
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, str(torch.rand(2).tolist()).encode())
    os._exit(0)
print("child", os.read(read, 100).decode())
os.wait()
