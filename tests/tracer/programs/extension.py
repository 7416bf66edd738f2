"""Calls an extension that is linked to LibTorch: extension.py LIBRARY."""

import sys

import torch

index = torch.tensor([0, 1, 0])
print("sum", torch.ones(3, 4).sum().item())  # <- before
torch.ops.load_library(sys.argv[1])
for dtype in (torch.float32, torch.bfloat16):
    rows = torch.ones(3, 4, dtype=dtype)
    try:
        print("pooled", torch.ops.rows.pooled(rows, index, 2).sum().item())  # <- call
    except RuntimeError as error:
        print("refused", error)
