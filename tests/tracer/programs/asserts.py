"""Calls ops that have no result with numbers that are computed again in Double."""

import torch

x = torch.randn(4, 32).to(torch.bfloat16) * 2
torch.ops.aten._assert_tensor_metadata(x.float(), None, None, torch.float32)  # <- asserted
torch._assert_async(x.float().sum() < 1e9)
try:
    torch.ops.aten._assert_tensor_metadata(x, None, None, torch.float32)
except RuntimeError as error:
    print(error)
