"""Autocast from inside and outside: what it casts, keeps, leaves alone and does not reach."""

import threading

import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        y = self.proj(x)  # <- first use
        y = self.proj(y)  # <- second use
        y = self.norm(y)  # <- no rule
        y = torch.cat([x, y], -1)  # <- promotes
        F.linear(x, self.proj.weight.data)  # <- data
        return y


def in_thread(block, x):
    with torch.no_grad():
        block.proj(x)  # <- thread


def main():
    torch.manual_seed(0)
    block = Block()
    optimizer = torch.optim.SGD(block.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(2, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):  # <- entered
            y = block(x)
            with torch.autocast("cpu", enabled=False):  # <- switched off
                block.proj(x)  # <- off
            thread = threading.Thread(target=in_thread, args=(block, x))
            thread.start()
            thread.join()
        block.proj(x)  # <- after
        loss = y.float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("loss", loss.item().hex())


if __name__ == "__main__":
    main()
