# A LoRA on a float16 UNet takes the UNet's dtype, and the gradient scaler refuses its float16 gradients.
# EXPECT rule=fp16-trainable severity=error op=python::GradScaler._unscale_grads_ odd=param line=here
# EXPECT-OPERANDS param=Half
# EXPECT-FROM param=adapter
# EXPECT-ERROR Attempting to unscale FP16 gradients.
# EXPECT-FIX cast them with cast_training_params()
# EXIT 1
import sys

import torch
from diffusers import UNet2DConditionModel
from peft import LoraConfig
from sdxl_batch import random_batch, random_target

unet = UNet2DConditionModel.from_pretrained(sys.argv[1], subfolder="unet", torch_dtype=torch.float16)
unet.requires_grad_(False)
lora = LoraConfig(r=4, lora_alpha=4, target_modules=["to_q", "to_k", "to_v", "to_out.0"])
unet.add_adapter(lora)  # <- adapter
trainable = [p for p in unet.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=1e-4)
scaler = torch.amp.GradScaler("cpu")

with torch.autocast("cpu", dtype=torch.float16):
    prediction = unet(**random_batch(torch.float16)).sample
loss = torch.nn.functional.mse_loss(prediction.float(), random_target())
scaler.scale(loss).backward()
scaler.unscale_(optimizer)  # <- here
torch.nn.utils.clip_grad_norm_(trainable, 1.0)
scaler.step(optimizer)
scaler.update()
