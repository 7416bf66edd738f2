"""Two steps on a batch of eight: in one process, or the halves in two ranks of DDP. "sum" sums the loss where it is a mean, "slope" changes an op."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn

import gloo


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.LeakyReLU(0.2 if "slope" in sys.argv else 0.01), nn.Linear(12, 3))
    x, y = torch.randn(8, 6), torch.randn(8, 3)
    world = int(os.environ.get("WORLD_SIZE", 1))
    net = model
    if world > 1:
        dist.init_process_group("gloo")
        net = nn.parallel.DistributedDataParallel(model)
        x, y = x.chunk(2)[dist.get_rank()], y.chunk(2)[dist.get_rank()]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    reduction = "sum" if "sum" in sys.argv else "mean"
    for _ in range(2):
        nn.functional.mse_loss(net(x), y, reduction=reduction).backward()
        optimizer.step()
        optimizer.zero_grad()
    if world > 1:
        gloo.leave()


if __name__ == "__main__":
    main()
