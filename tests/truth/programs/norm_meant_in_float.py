# The line raises to Float on purpose; the norm below it was left in Half.
# EXPECT-CURE self.norm = nn.LayerNorm(10)
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(10, 10).half()
        self.norm = nn.LayerNorm(10).half()

    def forward(self, h):
        raised = self.proj(h).float()
        return self.norm(raised.float())


print(Head()(torch.rand(3, 10).half()).dtype)
