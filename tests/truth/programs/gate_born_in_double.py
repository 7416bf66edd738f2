# One layer is born in Double beside two in Float, and a compiled line calls them all.
# EXPECT-CURE nn.Linear(8, 16, dtype=torch.float32)
import torch
import torch.nn as nn


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 16)
        self.gate = nn.Linear(8, 16, dtype=torch.float64)
        self.down = nn.Linear(16, 8)

    def forward(self, x):
        return self.down(torch.sigmoid(self.gate(x)) * self.up(x))


model = torch.compile(Gated(), backend="eager")
for _ in range(2):
    y = model(torch.randn(2, 8))
print(y.sum())
