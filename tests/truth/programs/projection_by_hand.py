# Two tensors and no layer: the sides of an operator have names.
# EXPECT-CURE torch.rand(4, 3, dtype=query.dtype)
import torch

query = torch.rand(2, 4).half()
table = torch.rand(4, 3)
print((query @ table).dtype)
