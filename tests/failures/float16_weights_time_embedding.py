# The UNet is loaded in float16 to save memory, what goes in stays float32, and nothing opens autocast.
# EXPECT rule=mixed-operands severity=error op=aten::addmm odd=mat1 line=here module=time_embedding.linear_1
# EXPECT-OPERANDS bias=Half mat1=Float mat2=Half
# EXPECT-ERROR mat1 and mat2 must have the same dtype, but got Float and Half
# EXPECT-FIX unet
# EXIT 1
import sys

import torch
from diffusers import UNet2DConditionModel
from sdxl_batch import random_batch, random_target

unet = UNet2DConditionModel.from_pretrained(sys.argv[1], subfolder="unet", torch_dtype=torch.float16)
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)
prediction = unet(**random_batch()).sample  # <- here
torch.nn.functional.mse_loss(prediction.float(), random_target()).backward()
optimizer.step()
