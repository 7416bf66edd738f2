# The file has no name "torch", so that what names a dtype imports it.
# EXPECT-CURE import torch
# EXPECT-CURE rand(2, 3, dtype=torch.float32)
import torch.nn as nn
from torch import float64, rand


class Hint(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 8)

    def forward(self, hint):
        return self.body(hint)


print(Hint()(rand(2, 3, dtype=float64)).dtype)
