# An expert normalizes in Float, and never goes back: what it gives is cast, and the norm stays in Float.
# EXPECT-CURE self.expert(x[tokens]).to(x.dtype)
# EXPECT-NOT rsqrt
import torch
import torch.nn as nn


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        y = self.fc(x).float()
        return y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5)


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.expert = Expert()

    def forward(self, x):
        combined = torch.zeros(4, 8, dtype=x.dtype)
        tokens = torch.tensor([0, 2])
        return combined.index_add(0, tokens, self.expert(x[tokens]) * x[tokens, :1])


torch.manual_seed(0)
print(Mixture().to(torch.bfloat16)(torch.randn(4, 8, dtype=torch.bfloat16)).float().mean())
