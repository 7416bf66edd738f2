# A validation image: the VAE was loaded in float16, and indexing the schedule by a tensor makes a 1-d float32
# factor that turns the half latents float32.
# EXPECT rule=mixed-operands severity=error op=aten::conv2d odd=input line=here module=post_quant_conv
# EXPECT-OPERANDS input=Float weight=Half bias=Half
# EXPECT-ERROR Input type (float) and bias type (c10::Half) should be the same
# EXPECT-FIX cast the other of mul to Half
# EXPECT rule=silent-promotion severity=error op=aten::mul line=promotes
# EXPECT-FIX cast the other of mul to Half
# EXIT 1
import sys

import torch
from diffusers import AutoencoderKL, DDPMScheduler

vae = AutoencoderKL.from_pretrained(sys.argv[1], subfolder="vae", torch_dtype=torch.float16)
schedule = DDPMScheduler.from_pretrained(sys.argv[1], subfolder="scheduler")
latents = torch.randn(1, 4, 8, 8, dtype=torch.float16)
timestep = torch.tensor([500])
scaled = latents * schedule.alphas_cumprod[timestep].sqrt()  # <- promotes
image = vae.decode(scaled / vae.config.scaling_factor).sample  # <- here
print(image.abs().mean().item())
