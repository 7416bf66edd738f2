# Two tensors and no layer: the sides of an operator have names.
# EXPECT-CURE query.to(table.dtype)
import torch

query = torch.rand(2, 4).half()
table = torch.rand(4, 3)
print((query @ table).dtype)
