"""A trainer that goes on until standard input has a line for each part of it: "steps" of training; prints what it computed."""

import hashlib
import os
import sys

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
mask = torch.rand(16, 8)


def train(steps):
    for _ in range(steps):
        x = torch.cat([torch.randn(16, 8).half(), mask])  # <- promotion
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train(2)
print(os.getpid(), flush=True)
for line in sys.stdin:
    train(int(line))
    weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
    print(hashlib.sha256(weights).hexdigest(), flush=True)
