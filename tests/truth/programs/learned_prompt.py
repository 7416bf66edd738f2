# A learned prompt stays in Float, since it is trained; where it is read it is cast.
# EXPECT-CURE prompt.expand(2, -1, -1).to(words.dtype)
import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 2)).to(torch.bfloat16)
prompt = nn.Parameter(torch.randn(1, 3, 8))
words = torch.randn(2, 5, 8).to(torch.bfloat16)
x = torch.cat([prompt.expand(2, -1, -1), words], dim=1)
model(x).float().sum().backward()
