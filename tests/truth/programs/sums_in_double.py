# All is in Double but the sums, which a factory makes in Float by default: they are made like what they add up.
# EXPECT-CURE torch.zeros(2, dtype=power.dtype)
# EXPECT-NOT .to(
import torch

velocity = torch.linspace(0, 1, 8, dtype=torch.float64)
power = velocity * torch.linspace(1, 2, 8, dtype=torch.float64)
index = torch.arange(8) % 2
sums = torch.zeros(2)
sums.scatter_add_(0, index, power)
print(sums.tolist())
