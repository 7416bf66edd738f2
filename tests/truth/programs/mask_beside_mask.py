# A mask of ones is Float and meets a Bool mask: inverted it has to be one, no number.
# EXPECT-CURE torch.ones(3, 3, dtype=padding.dtype)
import torch

padding = torch.tensor([[True, True, False], [True, False, False]])
causal = torch.ones(3, 3).tril()
allowed = causal & padding[:, None]
print(torch.zeros(2, 3, 3).masked_fill(~allowed, -1e4).softmax(-1).shape)
