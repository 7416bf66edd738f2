# A tokenizer's mask says which; as numbers it would be added to the scores.
# EXPECT-CURE torch.ones(n, n, dtype=torch.bool)
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.proj(out.transpose(1, 2).reshape(b, n, d))


def causal_mask(n):
    return torch.ones(n, n, dtype=torch.long).tril()


attn = SelfAttention(16, 2).to(torch.bfloat16)
tokens = torch.randn(2, 6, 16).to(torch.bfloat16)
mask = causal_mask(6)
for _ in range(2):
    tokens = attn(tokens, mask)
print(tokens.shape)
