"""A training that every LibTorch since 1.13 can do, and two refusals; prints the losses and what was refused."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        return self.norm(self.proj(x).float())  # <- forward


def refused(call):
    try:
        call()
    except RuntimeError as error:
        print("refused", error)


def main():
    torch.manual_seed(0)
    net = nn.Sequential(Block(), nn.Dropout(0.5), nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for _ in range(3):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = net(torch.randn(2, 4)).float().square().mean()
        loss.backward()
        optimizer.step()  # <- step
        optimizer.zero_grad()
        print("loss", loss.item().hex())
    refused(lambda: net[2].half()(torch.ones(1, 4)))  # <- mixed
    refused(lambda: net[0].norm.half()(torch.ones(1, 4).half()))  # <- half norm


if __name__ == "__main__":
    main()
