# Keys and values come from a cache that was made in Float, two against the one query of a model in BFloat16.
# EXPECT-CURE (q, k.to(q.dtype), v.to(q.dtype))
import torch
import torch.nn as nn
import torch.nn.functional as F


class Cache:
    def __init__(self, length):
        self.k = torch.zeros(1, 2, length, 8)
        self.v = torch.zeros(1, 2, length, 8)
        self.at = 0

    def update(self, k, v):
        self.k[:, :, self.at : self.at + 1] = k
        self.v[:, :, self.at : self.at + 1] = v
        self.at += 1
        return self.k[:, :, : self.at], self.v[:, :, : self.at]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.proj = nn.Linear(16, 16)

    def forward(self, x, cache):
        q, k, v = self.qkv(x).view(1, 1, 3, 2, 8).permute(2, 0, 3, 1, 4)
        k, v = cache.update(k, v)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(1, 1, 16))


model, cache = Attention().to(torch.bfloat16).eval(), Cache(3)
x = torch.randn(1, 1, 16, dtype=torch.bfloat16)
with torch.inference_mode():
    for _ in range(3):
        x = model(x, cache)
print(x.dtype)
