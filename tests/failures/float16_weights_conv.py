# A float16 UNet's own first convolution is fed float32 latents, to look at its features.
# EXPECT rule=mixed-operands severity=error op=aten::conv2d odd=input line=here
# EXPECT-OPERANDS input=Float weight=Half bias=Half
# EXPECT-FROM weight=load
# EXPECT-ERROR Input type (float) and bias type (c10::Half) should be the same
# EXPECT-FIX cast the inputs of unet to Half
# EXIT 1
import sys

import torch
from diffusers import UNet2DConditionModel

model = dict(subfolder="unet", torch_dtype=torch.float16)
unet = UNet2DConditionModel.from_pretrained(sys.argv[1], **model)  # <- load
latents = torch.randn(1, 4, 8, 8)
features = unet.conv_in(latents)  # <- here
print(features.abs().mean().item())
