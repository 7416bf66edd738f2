# The sum begins as a number of Python and has the dtype of what is added first.
# EXPECT-CURE total += losses.mean().to(torch.float32)
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 4).to(torch.bfloat16)
total = 0.0
with torch.no_grad():
    for _ in range(600):
        losses = model(torch.randn(16, 8).to(torch.bfloat16)).square()
        total += losses.mean()
print(float(total) / 600)
