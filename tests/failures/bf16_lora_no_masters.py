# A LoRA kept in bfloat16 with no float32 masters: most of its steps are below half the spacing of bfloat16 and vanish.
# EXPECT rule=lost-update severity=warning op=aten::addcdiv_ odd=self line=here
# EXPECT-FIX cast them with cast_training_params()
# EXIT 0
import sys

import torch
from diffusers import UNet2DConditionModel
from peft import LoraConfig
from sdxl_batch import random_batch, random_target

torch.manual_seed(0)
unet = UNet2DConditionModel.from_pretrained(sys.argv[1], subfolder="unet", torch_dtype=torch.bfloat16)
unet.requires_grad_(False)
unet.add_adapter(LoraConfig(r=4, lora_alpha=4, target_modules=["to_q", "to_k", "to_v", "to_out.0"]))
trainable = [p for p in unet.parameters() if p.requires_grad]
before = [p.detach().clone() for p in trainable]
optimizer = torch.optim.AdamW(trainable, lr=1e-5)
for step in range(2):
    prediction = unet(**random_batch(torch.bfloat16)).sample
    loss = torch.nn.functional.mse_loss(prediction.float(), random_target())
    loss.backward()
    optimizer.step()  # <- here
    optimizer.zero_grad()
moved = sum((p != old).sum().item() for p, old in zip(trainable, before))
print(f"{moved} of {sum(p.numel() for p in trainable)} elements moved")
