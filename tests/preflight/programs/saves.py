"""Saves by safetensors, which renames by a system call that no library stands in for."""
import os

import safetensors.torch
import torch

layer = torch.nn.Linear(8, 4).cuda()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for i in range(2):
    layer(torch.ones(2, 8, device="cuda")).sum().backward()
    optimizer.step()
    os.makedirs("out", exist_ok=True)
    safetensors.torch.save_file(layer.state_dict(), "out/model.safetensors")
    assert safetensors.torch.load_file("out/model.safetensors")["weight"].shape == (4, 8)
print("saved")
