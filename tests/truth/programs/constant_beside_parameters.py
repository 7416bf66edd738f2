# A constant in Double meets what parameters gave: it is odd, though it comes first.
# EXPECT-CURE torch.tensor([0.5, 0.3, 0.2], dtype=torch.float32)
import torch
import torch.nn as nn


class Hyper(nn.Module):
    def __init__(self):
        super().__init__()
        self.bases = nn.ParameterList([nn.Parameter(torch.randn(6, 6)) for _ in range(3)])
        self.register_buffer("coef", torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64))

    def forward(self, x):
        stacked = torch.stack(list(self.bases))
        return x @ torch.einsum("n,nij->ij", self.coef, stacked)


net = Hyper()
net(torch.randn(4, 6)).square().mean().backward()
