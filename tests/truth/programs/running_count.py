# Integers cannot be divided in place.
# EXPECT-CURE torch.arange(5, dtype=torch.float32)
import torch

batches = 3
count = torch.arange(5)
count /= batches + 1
print(count.dtype)
