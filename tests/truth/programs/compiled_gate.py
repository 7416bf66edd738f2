# In a compiled function the line is that of its definition, where nothing can be cast.
# EXPECT-CURE self.gate = nn.Linear(12, 3)
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(6, 12)
        self.gate = nn.Linear(12, 3).bfloat16()

    def forward(self, h):
        return self.gate(self.up(h))


gate = torch.compile(Gate())
print(gate(torch.rand(2, 6)).shape)
