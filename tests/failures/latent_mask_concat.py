# Inpainting: the nine-channel UNet, latents and masked latents are float16, the mask came from an image as float32.
# The concatenation promotes all of it, and the first linear layer throws.
# EXPECT rule=silent-promotion severity=error op=aten::cat odd=tensors[1] line=promotes
# EXPECT-FIX cast the result of zeros to Half
# EXPECT rule=mixed-operands severity=error op=aten::addmm odd=mat1 line=here module=time_embedding.linear_1
# EXPECT-OPERANDS bias=Half mat1=Float mat2=Half
# EXPECT-ERROR mat1 and mat2 must have the same dtype, but got Float and Half
# EXPECT-FIX cast the inputs of unet to Half
# EXIT 1
import sys

import torch
from diffusers import UNet2DConditionModel
from sdxl_batch import random_batch

unet = UNet2DConditionModel.from_pretrained(
    sys.argv[1], subfolder="unet", torch_dtype=torch.float16, in_channels=9, low_cpu_mem_usage=False,
    ignore_mismatched_sizes=True,
)
batch = random_batch(torch.float16)
masked_latents = torch.randn_like(batch["sample"])
latent_mask = torch.zeros(1, 1, 8, 8)
latent_mask[:, :, 2:6, 2:6] = 1
batch["sample"] = torch.concat([batch["sample"], latent_mask, masked_latents], dim=1)  # <- promotes
prediction = unet(**batch).sample  # <- here
print(prediction.abs().mean().item())
