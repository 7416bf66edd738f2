# Integers cannot be divided in place.
# EXPECT-CURE count = count / (batches + 1)
import torch

batches = 3
count = torch.arange(5)
count /= batches + 1
print(count.dtype)
