# The next line asks the same of the same tensor, and would die like this one.
# EXPECT-CURE torch.quantile(t.to(torch.float32), 1 - p)
import torch


def robust_scale(t, p=0.9):
    low = torch.quantile(t, 1 - p)
    high = torch.quantile(t, p)
    return (t - low) / (high - low)


x = torch.randn(1000).to(torch.bfloat16)
print(robust_scale(x).mean())
