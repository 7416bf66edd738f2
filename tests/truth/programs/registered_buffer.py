# A Double buffer promotes the batch: it is cast where it meets that, for the line that registers it says Double.
# EXPECT-CURE self.scale.to(batch.dtype)
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor([0.5, 2.0], dtype=torch.float64))
        self.head = nn.Linear(2, 1)

    def forward(self, batch):
        return self.head(batch * self.scale)


print(Scaled()(torch.rand(3, 2)).dtype)
