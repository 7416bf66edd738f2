# A Float mask meets Half queries: the mask is odd, whichever operand it is added to.
# EXPECT-CURE torch.full((5, 5), float("-inf"), dtype=torch.float16)
import torch
from torch import nn

attention = nn.MultiheadAttention(8, 4).half()
h = torch.rand(5, 1, 8).half()
mask = torch.triu(torch.full((5, 5), float("-inf")), diagonal=1)
out, _ = attention(h, h, h, attn_mask=mask)
print(out.dtype)
