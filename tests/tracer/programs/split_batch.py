"""Two steps on a batch of eight: in one process, or the halves in two ranks of DDP, "fsdp" in FSDP2, whose gradients "bf16" sums in BFloat16;
"flat" in FullyShardedDataParallel, with "original" parameters, layer by layer with "nested", in the strategy of the word in capital letters;
"older" lacks a field of that;
"shared" has two layers more with one weight, and "frozen" a first layer without gradients.
"layers": all of it in both, which have parts of the layers. "sum" sums the loss where it is a mean, "slope" changes an op and "epsilon" the
optimizer's, "low" has the first rank compute the last layer in BFloat16, and "said" prints the loss. "reduced" and "functional" scale what
comes out by what the ranks have a sum of, to which the second brings more with "louder"."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn

import gloo


def divided(model):
    if "fsdp" in sys.argv:
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        policy = MixedPrecisionPolicy(reduce_dtype=torch.bfloat16 if "bf16" in sys.argv else None)
        return fully_shard(model, mp_policy=policy)
    if "flat" in sys.argv:
        from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy
        from torch.distributed.fsdp.wrap import ModuleWrapPolicy

        (strategy,) = [word for word in sys.argv if word.isupper()] or ["FULL_SHARD"]
        return FullyShardedDataParallel(
            model, device_id=torch.device("cpu"), use_orig_params="original" in sys.argv, sharding_strategy=ShardingStrategy[strategy],
            auto_wrap_policy=ModuleWrapPolicy({nn.Linear}) if "nested" in sys.argv else None,
            mixed_precision=MixedPrecision(reduce_dtype=torch.bfloat16) if "bf16" in sys.argv else None)
    if "layers" in sys.argv:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

        return parallelize_module(model, init_device_mesh("cpu", (dist.get_world_size(),)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
    return nn.parallel.DistributedDataParallel(model)


def scaled(x):
    factor = torch.ones(2, 1) * (1 + (dist.get_rank() == 1 and "louder" in sys.argv))
    if "functional" in sys.argv:
        from torch.distributed._functional_collectives import all_reduce

        return x * all_reduce(factor, "sum", dist.group.WORLD)[0]
    work = dist.all_reduce(factor, async_op=True)
    work.wait()
    return x * factor[0]


class Low(nn.Linear):
    def forward(self, x):
        if not dist.is_initialized() or dist.get_rank() > 0:
            return super().forward(x)
        return nn.functional.linear(x.bfloat16(), self.weight.bfloat16(), self.bias.bfloat16()).float()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.LeakyReLU(0.2 if "slope" in sys.argv else 0.01), (Low if "low" in sys.argv else nn.Linear)(12, 3))
    if "shared" in sys.argv:
        model.insert(2, nn.Sequential(nn.Linear(12, 12), nn.Linear(12, 12)))
        model[2][1].weight = model[2][0].weight
    model[0].requires_grad_("frozen" not in sys.argv)
    x, y = torch.randn(8, 6), torch.randn(8, 3)
    world = int(os.environ.get("WORLD_SIZE", 1))
    net = model
    if world > 1:
        dist.init_process_group("gloo")
        net = divided(model)
    for module in net.modules() if "older" in sys.argv else ():
        if getattr(module, "_handle", None):
            del module._handle.flat_param._shard_param_infos
    if world > 1 and "layers" not in sys.argv:
        x, y = x.chunk(2)[dist.get_rank()], y.chunk(2)[dist.get_rank()]
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2, eps=1e-3 if "epsilon" in sys.argv else 1e-8)
    reduction = "sum" if "sum" in sys.argv else "mean"
    for _ in range(2):
        out = net(x)
        if {"reduced", "functional"} & {*sys.argv}:
            out = scaled(out)
        loss = nn.functional.mse_loss(out, y, reduction=reduction)
        if "said" in sys.argv:
            print(f"{loss.item().hex()}\n", end="", flush=True)  # of two ranks at once
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    if world > 1:
        gloo.leave()


if __name__ == "__main__":
    main()
