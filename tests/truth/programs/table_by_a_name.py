# The table has its dtype by a name, from a parameter that was cast with the model: positions beyond 256 are rounded, and so are the
# frequencies. The table in Float is read beside 16 bits.
# EXPECT-CURE dtype = torch.float32
import torch
from torch import nn


class Rotary(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.width, self.length = width, length
        self.angles = nn.Parameter(torch.empty(length, width), requires_grad=False)
        self.turn(0)

    def turn(self, offset):
        dtype = self.angles.dtype
        steps = torch.arange(offset, offset + self.length, dtype=dtype)
        angles = (100.0 ** (-torch.arange(self.width, dtype=dtype) / self.width)).repeat(self.length, 1)
        angles *= steps[:, None]
        self.angles.data = angles

    def forward(self, x, offset):
        self.turn(offset)
        return (self.angles.cos() * x).to(x.dtype)


torch.manual_seed(0)
rotary = Rotary(16, 64).to(torch.bfloat16)
x = torch.ones(64, 16, dtype=torch.bfloat16)
print(rotary(x, 1024).float().mean(1)[:8].abs().sum().item())
