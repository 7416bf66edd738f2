"""Calls ops at lines, in modules, phases and autocast states that test_facts.py knows."""

import os

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        x = self.proj(x)  # <- block proj
        return self.norm(x.float()) * 2  # <- block norm


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)  # <- head


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.arange(4).float() + index  # <- row


def train(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.utils.data.DataLoader(Rows(), batch_size=2):
        for _ in range(2):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = net(x).sum()  # <- loss
            loss.backward()  # <- backward
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # <- clip
            optimizer.step()  # <- step
            optimizer.zero_grad()


def without_autocast(net):
    with torch.no_grad():
        return net(torch.zeros(1, 4))  # <- eval


def nested_autocast():
    a = torch.ones(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = a @ a  # <- inside
        with torch.autocast("cpu", enabled=False):
            a @ a  # <- disabled
        with torch.autocast("cpu", dtype=torch.float16):
            a @ a  # <- float16
    return inside


def origins():
    half = torch.ones(2, 3).half()  # <- cast
    view = half.t()[:2]
    return view * 2  # <- user of cast


def checkpointed(net):
    y = checkpoint(net.blocks[0], torch.ones(2, 4, requires_grad=True), use_reentrant=False)  # <- checkpoint
    y.sum().backward()  # <- backward of checkpoint


def throws():
    for n in range(3):
        try:
            torch.ones(2, 3) @ torch.ones(3, 2).half()  # <- mixed matmul
        except RuntimeError:
            pass
    try:
        nn.Conv2d(1, 1, 1).half()(torch.ones(1, 1, 2, 2))  # <- mixed conv
    except RuntimeError:
        pass


def indices():
    torch.tensor([1365]).to(torch.bfloat16)  # <- inexact
    torch.tensor([256]).to(torch.bfloat16)  # <- exact
    torch.tensor([2049, 1]).half()  # <- inexact half
    torch.tensor([1365]).float()  # <- float


def roles():
    x, room = torch.ones(2, 3), torch.empty(0)
    torch.ops.aten._softmax_backward_data(x, x, -1, torch.float32)  # <- output is read
    torch.sort(x, out=(room, torch.empty(0, dtype=torch.int64)))  # <- values are written
    torch.multiply(x, x)  # <- alias


def main():
    torch.manual_seed(0)
    net = Net()
    print("pid", os.getpid())
    train(net)
    without_autocast(net)
    nested_autocast()
    origins()
    checkpointed(net)
    throws()
    indices()
    roles()


if __name__ == "__main__":
    main()
