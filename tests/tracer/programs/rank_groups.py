"""Four ranks in groups of three and of one, which reduce at one line in a dtype of their own; then
the three reduce by name, to which rank 2 brings BFloat16: as many bytes, so that gloo does not
notice."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

import gloo


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    groups = [dist.new_group([0, 1, 2]), dist.new_group([3])]
    group = groups[rank // 3]
    low, full = torch.ones(8, dtype=torch.bfloat16), torch.ones(4)
    dist.all_reduce(low if rank == 3 else full, group=group)  # <- agree
    if rank < 3:
        functional.all_reduce(low if rank == 2 else full, "sum", group)  # <- by name
    for each in groups[0], dist.group.WORLD:  # one line, two groups
        if rank < 3 or each is dist.group.WORLD:
            dist.all_reduce(torch.ones(2), group=each)  # <- two groups
    print(f"rank{rank} done\n", end="", flush=True)
    dist.barrier()
    gloo.leave()


if __name__ == "__main__":
    main()
