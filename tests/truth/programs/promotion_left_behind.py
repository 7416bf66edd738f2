# A table in Double raises two products of a line. To cast the one that a layer reads leaves the other, which the next step
# hands to the same layer.
# EXPECT-CURE torch.linspace(2, 0.1, n, dtype=torch.float32)
import torch
import torch.nn as nn


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x, sigma):
        c_in = 1 / (sigma**2 + 0.25).sqrt()
        return x / (1 + sigma) + sigma * self.inner(c_in * x)


def levels(n):
    return torch.linspace(2, 0.1, n, dtype=torch.float64)


model = Denoiser()
with torch.no_grad():
    x = torch.randn(3, 8)
    for sigma in levels(4)[:, None, None]:
        x = model(x, sigma.expand(3, 1))
print(x.mean())
