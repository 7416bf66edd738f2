# Tables in Float raise queries and keys, and the values alone are in what the model computes in: a buffer is cast with them.
# EXPECT-CURE self.register_buffer("angles", torch.rand(6, 8), persistent=False)
import torch
import torch.nn as nn
import torch.nn.functional as F


def rotated(x, cos, sin):
    return x * cos + x.flip(-1) * sin


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.angles = torch.rand(6, 8)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        cos, sin = self.angles.cos(), self.angles.sin()
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        return self.out(F.scaled_dot_product_attention(q, k, v))


print(Attention().bfloat16()(torch.randn(2, 6, 8).bfloat16()).shape)
