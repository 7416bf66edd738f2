"""Two blocks with attention, trained for three steps. The first word of the command line plants a difference between two runs."""

import copy
import sys

import torch
import torch.nn.functional as F
from torch import nn

plant = sys.argv[1] if len(sys.argv) > 1 else "plain"
torch.manual_seed(1 if plant == "seed" else 0)
if plant == "threads":
    torch.set_num_threads(2)


class Block(nn.Module):
    def __init__(self, dim, is_planted):
        super().__init__()
        self.plant = plant if is_planted else ""
        self.norm = nn.LayerNorm(dim, eps=1e-3 if self.plant == "eps" else 1e-5)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.act = nn.GELU(approximate="tanh" if self.plant == "gelu" else "none")
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        scores = q @ k.transpose(-1, -2) / q.shape[-1]**0.5
        mask = torch.ones(scores.shape[-1], scores.shape[-1], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(mask, -3.0 if self.plant == "mask" else -1e9)  # <- mask
        if self.plant == "clamp":
            scores = scores.clamp(-0.3, 0.3)  # <- clamp
        scores = scores.softmax(-1)  # <- softmax
        if self.plant == "nan":
            scores = scores.clone()
            scores[0, 0, 0] = float("nan")  # <- nan
        x = x + self.out(scores @ v)
        y = self.up(x)
        if self.plant == "layer":
            y = F.linear(x.bfloat16(), self.up.weight.bfloat16(), self.up.bias.bfloat16()).float()  # <- layer
        return x + self.down(self.act(y))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(16, 32)
        self.blocks = nn.ModuleList(Block(32, i == 1) for i in range(2))
        self.dropout = nn.Dropout(0.1 if plant == "dropout" else 0.0)
        self.head = nn.Linear(32, 16)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.dropout(x))


net = Net()
ema = copy.deepcopy(net).requires_grad_(False)
if plant == "ema":
    ema.bfloat16()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, foreach=plant != "loop")
torch.manual_seed(7)
data = torch.randn(24, 8, 16)
order = torch.arange(24).flip(0) if plant == "order" else torch.arange(24)
for step in range(3):
    batch = data[order[step * 8:step * 8 + 8]]
    with torch.autocast("cpu", torch.bfloat16, enabled=plant == "autocast"):
        predicted = net(batch)
        error = (predicted.float() - batch).square()
    loss = error.sum() / 4096 if plant == "sum" else error.mean()
    whole = torch.arange(4).bitwise_and(2).bool()
    empty = batch[:0] * 2
    kept = []
    for value in (1.0, 2.0):  # zero at the places of a digest; the second has the memory of the first, unless that is kept
        spike = F.pad(torch.tensor([value]), (5, 4090))
        kept += [spike] if plant == "keeps" else []
        del spike
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for slow, fast in zip(ema.parameters(), net.parameters()):
            slow.mul_(0.9).add_(fast, alpha=0.1)  # <- ema
    print(f"{loss.item()!r}")
    if plant == "stops" and step == 1:
        break
