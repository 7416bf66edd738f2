"""A training with three mismatches, which every LibTorch since 1.13 refuses; prints whether the losses are finite."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)
        self.conv = nn.Conv1d(4, 4, 1).half()
        self.norm = nn.BatchNorm1d(4)
        self.out = nn.Linear(4, 1).double()

    def forward(self, x):
        x = self.proj(x)
        x = self.conv(x[:, :, None])  # <- conv
        x = self.norm(x.float())
        return self.out(x.flatten(1))  # <- out


def main():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        loss = net(torch.randn(2, 4)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("loss", torch.isfinite(loss).item())
    kept = torch.bmm(torch.ones(1, 2, 2), torch.ones(1, 2, 2).half())  # <- bmm
    print("bmm", kept.float().tolist())


if __name__ == "__main__":
    main()
