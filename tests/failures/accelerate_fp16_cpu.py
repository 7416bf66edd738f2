# accelerate takes mixed_precision="fp16" on a CPU without a word, and then neither opens autocast nor makes a scaler:
# the run is float32 from end to end.
# EXPECT rule=outside-autocast severity=warning line=forward
# EXPECT-FIX Accelerator(mixed_precision="bf16")
# EXIT 0
import sys

import torch
from accelerate import Accelerator
from diffusers import UNet2DConditionModel
from sdxl_batch import random_batch, random_target

accelerator = Accelerator(mixed_precision="fp16", cpu=True)
unet = UNet2DConditionModel.from_pretrained(sys.argv[1], subfolder="unet")
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)
unet, optimizer = accelerator.prepare(unet, optimizer)
for step in range(2):
    prediction = unet(**random_batch()).sample  # <- forward
    loss = torch.nn.functional.mse_loss(prediction, random_target())
    accelerator.backward(loss)
    accelerator.clip_grad_norm_(unet.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(f"loss {loss.item():.4f}")
print(f"scaler {accelerator.scaler}")
