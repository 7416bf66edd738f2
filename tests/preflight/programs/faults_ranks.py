"""A fault of two ranks: one reduces what it counted in Float, and the other in BFloat16."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
layer = torch.nn.Linear(64, 8).to("cuda", torch.bfloat16 if rank else torch.float)
loss = layer(torch.ones(4, 64, device="cuda", dtype=layer.weight.dtype)).mean()  # EXPECT rank-disagreement
dist.all_reduce(loss.detach())  # EXPECT rank-disagreement
dist.destroy_process_group()
