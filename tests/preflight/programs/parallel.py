"""DistributedDataParallel over NCCL; after its first step it makes its buckets anew, in the order that rank 0 broadcasts."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
gathered = [torch.zeros(2, dtype=torch.long, device="cuda") for _ in range(dist.get_world_size())]
dist.all_gather(gathered, torch.tensor([3, 4], device="cuda"))
print(f"gathered {[part.tolist() for part in gathered]}", flush=True)  # in one piece, beside the other rank's
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).cuda()
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(100):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(torch.randn(16, 64, device="cuda")).float().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
