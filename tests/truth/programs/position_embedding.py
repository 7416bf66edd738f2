# A Float table of angles promotes the stream of a BFloat16 model: it is cast behind the sine.
# EXPECT-CURE angles.to(h.dtype)
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, h, t):
        angles = torch.sin(t[:, None] / torch.arange(1, 9))
        return self.inner(h + angles)


block = Block().bfloat16()
print(block(torch.rand(2, 8).bfloat16(), torch.tensor([700.0, 901.0])).dtype)
