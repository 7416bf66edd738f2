"""A kernel asserts that its indices are in range, and a later call tells it."""
import ctypes

import torch

cuda = ctypes.CDLL("libcuda.so.1")
table = torch.randn(10, 4, device="cuda")
indices = torch.tensor([3, 12], device="cuda")
x = table.exp()
cuda.dtypecheck_pretended_fail(b"index", 710)
rows = torch.nn.functional.embedding(indices, table)  # the one that asserts
print("went on")
x.sum().item()  # the one that tells
