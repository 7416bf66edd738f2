# A LoRA on a float32 UNet, everything float32: nothing to find.
# EXIT 0
import sys

import torch
from diffusers import UNet2DConditionModel
from peft import LoraConfig
from sdxl_batch import random_batch, random_target

unet = UNet2DConditionModel.from_pretrained(sys.argv[1], subfolder="unet")
unet.requires_grad_(False)
unet.add_adapter(LoraConfig(r=4, lora_alpha=4, target_modules=["to_q", "to_k", "to_v", "to_out.0"]))
trainable = [p for p in unet.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=1e-4)
for step in range(2):
    prediction = unet(**random_batch()).sample
    loss = torch.nn.functional.mse_loss(prediction, random_target())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trainable, 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(f"loss {loss.item():.4f}")
