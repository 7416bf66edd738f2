# accelerate takes mixed_precision="fp16" on a CPU without a word and opens no autocast; the script casts its UNet to
# float16 by it, as the official ones do, and dies in the first layer. What accelerate did not do is the cause.
# EXPECT rule=outside-autocast severity=error line=forward
# EXPECT-FIX Accelerator(mixed_precision="bf16")
# EXPECT rule=mixed-operands severity=error op=aten::addmm line=forward
# EXIT 1
import sys

import torch
from accelerate import Accelerator
from diffusers import UNet2DConditionModel
from sdxl_batch import random_batch

accelerator = Accelerator(mixed_precision="fp16", cpu=True)
weight_dtype = torch.float16 if accelerator.mixed_precision == "fp16" else torch.float32
unet = UNet2DConditionModel.from_pretrained(sys.argv[1], subfolder="unet").to(weight_dtype)
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)
unet, optimizer = accelerator.prepare(unet, optimizer)
prediction = unet(**random_batch()).sample  # <- forward
