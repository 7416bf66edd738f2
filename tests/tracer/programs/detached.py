"""Two steps of a net whose branches are detached: "branch" one of two, "whole" what the head is given, "unrecorded" by no_grad(). "frozen" has a
first layer without gradients. "checkpointed" and "compiled" compute the same as without."""

import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 16)
        self.skip = nn.Linear(16, 16)
        self.deep = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        x = torch.tanh(self.embed(x))
        given = x.detach() if "branch" in sys.argv else x
        deep = checkpoint(self.deep, given, use_reentrant=False) if "checkpointed" in sys.argv else self.deep(given)
        y = self.skip(x) + deep
        with torch.set_grad_enabled("unrecorded" not in sys.argv):
            y = torch.relu(y)
        return self.head(y.detach() if "whole" in sys.argv else y)  # <- head


torch.manual_seed(0)
net = Net()
net.embed.requires_grad_("frozen" not in sys.argv)
model = torch.compile(net, backend="aot_eager") if "compiled" in sys.argv else net
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
x, y = torch.randn(16, 8), torch.randn(16, 4)
for _ in range(2):
    F.mse_loss(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
