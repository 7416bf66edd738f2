# The weight of lerp is no layer's: it came out of NumPy, and the two ends are right.
# EXPECT-CURE torch.from_numpy(np.linspace(0, 1, 4)).to(torch.float32)
import numpy as np
import torch

weights = torch.from_numpy(np.linspace(0, 1, 4))
first, last = torch.randn(3, 4), torch.randn(3, 4)
print(torch.stack([torch.lerp(first, last, w.expand_as(first)) for w in weights]).shape)
