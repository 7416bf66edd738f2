"""A step of DeepSpeed by accelerate, in BFloat16 that the model is cast to: by a launcher, or as mpirun starts it ("mpi"), with
batches in Float ("mixed") or in the model's dtype."""
import os
import sys
import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import DeepSpeedPlugin

more = {}
if "mpi" in sys.argv:
    os.environ["OMPI_COMM_WORLD_LOCAL_RANK"] = "0"
    store = f"file://{tempfile.mkdtemp(dir=os.getcwd())}/store"
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    more["deepspeed_plugin"] = DeepSpeedPlugin(zero_stage=1, gradient_accumulation_steps=1)
accelerator = Accelerator(mixed_precision="bf16", **more)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
rows = torch.utils.data.TensorDataset(torch.randn(8, 4), torch.randn(8, 1))
model, optimizer, batches = accelerator.prepare(model, optimizer, torch.utils.data.DataLoader(rows, batch_size=4))
dtype = torch.float32 if "mixed" in sys.argv else torch.bfloat16
for x, y in batches:
    loss = torch.nn.functional.mse_loss(model(x.to(dtype)).float(), y.float())
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
print("trained", next(model.parameters()).dtype)
torch.distributed.destroy_process_group()
