"""A line of a model that three lines call: in Float, in Double, and refused."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 4))

    def forward(self, x):
        return x @ self.weight


net = Net()
net(torch.ones(2, 4))  # <- served
net.double()
net(torch.ones(2, 4, dtype=torch.float64))  # <- in Double
net(torch.ones(2, 4))  # <- refused
