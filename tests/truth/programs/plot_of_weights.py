# NumPy has no BFloat16.
# EXPECT-CURE weights.to(torch.float32)
import torch

weights = torch.rand(4).bfloat16()
print(weights.numpy().mean())
