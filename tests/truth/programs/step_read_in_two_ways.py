# The same line is called with time steps in Float and, in the replay, with rounded ones, which is what damages it.
# EXPECT-CURE steps.to(torch.float32) * 1000
import torch


def embedding(steps):
    frequencies = torch.exp(-torch.arange(8) * 0.5)
    angles = steps.float()[:, None] * frequencies
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def replay(steps, weight):
    steps = steps.to(weight.dtype) * 1000
    return embedding(steps).to(weight.dtype) @ weight


torch.manual_seed(0)
sigmas = torch.linspace(1, 0.1, 40) ** 1.3
weight = torch.randn(16, 4).to(torch.bfloat16)
first = embedding(sigmas * 1000).to(weight.dtype) @ weight
print((replay(sigmas, weight) - first).float().abs().max().item())
