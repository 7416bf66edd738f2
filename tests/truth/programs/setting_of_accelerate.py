# accelerate opens no autocast for fp16 on a CPU: the setting stands where no op is called.
# EXPECT-CURE mixed_precision="bf16"
import torch
import torch.nn as nn
from accelerate import Accelerator

seen = []
body = nn.Sequential(nn.Linear(8, 3))
accelerator = Accelerator(
    cpu=True,
    mixed_precision="fp16",
)
body[0].register_forward_hook(lambda *_: seen.append(torch.is_autocast_enabled("cpu")))
model, optimizer = accelerator.prepare(body, torch.optim.AdamW(body.parameters()))
for _ in range(2):
    accelerator.backward(model(torch.randn(4, 8)).square().mean())
    optimizer.step()
    optimizer.zero_grad()
assert all(seen), "autocast never opened"
