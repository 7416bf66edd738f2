# A float32 LoRA on a frozen bfloat16 UNet under autocast: nothing to find.
# EXIT 0
import sys

import torch
from diffusers import UNet2DConditionModel
from diffusers.training_utils import cast_training_params
from peft import LoraConfig
from sdxl_batch import random_batch, random_target

unet = UNet2DConditionModel.from_pretrained(sys.argv[1], subfolder="unet", torch_dtype=torch.bfloat16)
unet.requires_grad_(False)
unet.add_adapter(LoraConfig(r=4, lora_alpha=4, target_modules=["to_q", "to_k", "to_v", "to_out.0"]))
cast_training_params(unet, dtype=torch.float32)
trainable = [p for p in unet.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=1e-4)
for step in range(2):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        prediction = unet(**random_batch(torch.bfloat16)).sample
    loss = torch.nn.functional.mse_loss(prediction.float(), random_target())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trainable, 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(f"loss {loss.item():.4f}")
