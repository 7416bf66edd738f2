# Statistics are computed in Float on purpose, and handed to a block of another class: they are cast where they leave, not
# in the block, which is called elsewhere as well.
# EXPECT-CURE std.expand_as(x)], dim=1).to(x.dtype)
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.conv = nn.Conv1d(size, 4, 1)

    def forward(self, x):
        return self.conv(x)


class Pooling(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block(12)

    def forward(self, x, mask):
        share = mask / mask.sum()
        mean = (share * x).sum(2, keepdim=True)
        std = (share * (x - mean).square()).sum(2, keepdim=True).sqrt()
        attn = torch.cat([x, mean.expand_as(x), std.expand_as(x)], dim=1)
        return self.block(attn)


torch.manual_seed(0)
first, pool = Block(4).to(torch.bfloat16), Pooling().to(torch.bfloat16)
x = torch.randn(2, 4, 6, dtype=torch.bfloat16)
print(pool(first(x), torch.ones(2, 1, 6)).float().mean())
