# One layer was cast to Double, the others are Float: what follows would refuse its Double result.
# EXPECT-CURE m.up.to(torch.float32)
import torch
from torch import nn


class Up(nn.Module):
    def __init__(self):
        super().__init__()
        self.skip = nn.Conv2d(4, 4, 1)
        self.up = nn.ConvTranspose2d(4, 4, 2, stride=2)

    def forward(self, x, s):
        return self.skip(s) + self.up(x)


m = Up()
m.up.to(torch.float64)
print(m(torch.randn(1, 4, 4, 4), torch.randn(1, 4, 8, 8)).shape)
