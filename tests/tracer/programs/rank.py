"""One process of a distributed run: sums its rank over all of them with gloo, trains two steps of DDP, of which "drifts" lets one replica drift."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn

import gloo


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    total = torch.full((1,), rank + 1.0)
    dist.all_reduce(total)  # <- all_reduce
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(torch.full((2, 3), float(rank))).sum().backward()  # <- model
        optimizer.step()
        optimizer.zero_grad()
        if rank == 1 and "drifts" in sys.argv:
            with torch.no_grad():
                model.module.bias.mul_(1.01)
    if rank == 1:
        torch.ones(2).half()  # <- only rank 1
    print(f"rank{rank} {os.getpid()} {total.item()} {model.module.weight.sum().item():.6f}\n", end="", flush=True)
    gloo.leave()


if __name__ == "__main__":
    main()
