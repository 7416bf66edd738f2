"""Trains a Float UNet on Half data, as diffusers' full fine-tuning scripts do where accelerate opens no autocast, and saves it.

    fp16_training.py MODEL DTYPE OUT        MODEL: of make_tiny_sdxl.py
"""

import sys

import torch
from diffusers import UNet2DConditionModel

dtype = getattr(torch, sys.argv[2])
torch.manual_seed(0)
unet = UNet2DConditionModel.from_pretrained(sys.argv[1], subfolder="unet")
start = {name: p.detach().clone() for name, p in unet.named_parameters()}
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)
for step in range(4):
    latents, text = torch.randn(1, 4, 8, 8), torch.randn(1, 77, 64)
    size = {"text_embeds": torch.randn(1, 32).to(dtype),
            "time_ids": torch.tensor([[96.0, 96.0, 0.0, 0.0, 64.0, 64.0]])}
    target = torch.randn(1, 4, 8, 8)
    prediction = unet(latents.to(dtype), torch.tensor([500]), text.to(dtype),
                      added_cond_kwargs=size).sample  # <- forward
    loss = torch.nn.functional.mse_loss(prediction.float(), target)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print("loss", loss.item())
torch.save({name: (start[name], p.detach()) for name, p in unet.named_parameters()}, sys.argv[3])
