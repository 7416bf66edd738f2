"""Prints numbers that it draws, in several dtypes, and what a linear layer begins with."""

import json

import torch

torch.manual_seed(0)
drawn = [torch.rand(6), torch.randn(6, dtype=torch.float64), torch.nn.Linear(3, 2).weight.detach().flatten()]
others = [torch.rand(6, dtype=torch.bfloat16), torch.randint(0, 100, (6,)), torch.randperm(6), torch.ones(6)]
print(json.dumps([[tensor.tolist() for tensor in tensors] for tensors in (drawn, others)]))
