# One layer was made in BFloat16: its input has to be cast, not what the model is called with.
# EXPECT-CURE self.up(h).to(self.gate.weight.dtype)
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(6, 12)
        self.gate = nn.Linear(12, 3).bfloat16()

    def forward(self, h):
        # The mismatch is between two layers of one line.
        return self.gate(self.up(h))


print(Gate()(torch.rand(2, 6)).shape)
