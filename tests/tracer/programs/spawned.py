"""Starts its two ranks itself, and then pretends, as tests do, to be one of eight: no variable of the environment says it."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.testing._internal.distributed.fake_pg import FakeStore


def work(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    layer = torch.nn.Linear(4, 4)
    layer(torch.ones(2, 4)).sum().backward()
    dist.all_reduce(layer.weight.grad)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(work, args=(f"{folder}/store",), nprocs=2)
    dist.init_process_group("fake", store=FakeStore(), rank=3, world_size=8)
    torch.nn.Linear(4, 4)(torch.ones(2, 4)).sum().backward()
