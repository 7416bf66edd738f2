# Two products of one line each bring a Double: to cast in one of them is not enough.
# EXPECT-NOT a.sqrt().to(
import numpy as np
import torch
from torch import nn

alphas = torch.from_numpy(np.linspace(0.1, 0.9, 10))


def mix(x, noise, a):
    return a.sqrt() * x + (1 - a).sqrt() * noise


x = torch.randn(4, 6)
noisy = mix(x, torch.randn(4, 6), alphas[:4].view(-1, 1))
print(nn.Linear(6, 12)(noisy).mean())
