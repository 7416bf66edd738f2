# The frequencies are a buffer: the cast of the model rounds them, and the table of positions is another one at its end.
# EXPECT-CURE def _apply(self, fn, *args, **kwargs):
import torch
from torch import nn


class Rotary(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("frequencies", 10000.0 ** (-torch.arange(0, width, 2) / width), persistent=False)

    def forward(self, length):
        angles = torch.outer(torch.arange(length).float(), self.frequencies.float())
        return angles.cos(), angles.sin()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(32, 64)
        self.rotary = Rotary(64)

    def forward(self, x):
        cos, sin = self.rotary(x.shape[0])
        first, second = self.key(x).float().chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


torch.manual_seed(0)
model = Attention().to(torch.bfloat16)
print(model(torch.randn(3000, 32).to(torch.bfloat16))[-64:].abs().mean().item())
