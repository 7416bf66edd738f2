"""growing_lora.py MODEL STEPS DEVICE: a Float LoRA on the Half UNet of an SDXL, under autocast, with a GradScaler. The scale of the
adapter of one layer grows by 3.87 % in each step, until its product passes the end of Half near step 400."""
import sys

import torch
from diffusers import UNet2DConditionModel
from diffusers.training_utils import cast_training_params
from peft import LoraConfig

folder, steps, device = sys.argv[1], int(sys.argv[2]), sys.argv[3]
torch.manual_seed(0)
unet = UNet2DConditionModel.from_pretrained(folder, subfolder="unet", torch_dtype=torch.float16)
unet.requires_grad_(False)
unet.add_adapter(LoraConfig(r=4, lora_alpha=4, init_lora_weights="gaussian", target_modules=["to_q", "to_k", "to_v", "to_out.0"]))
cast_training_params(unet, dtype=torch.float32)
unet.to(device)
growing = unet.mid_block.attentions[0].transformer_blocks[0].attn1.to_out[0]
trainable = [p for p in unet.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=1e-4)
scaler = torch.amp.GradScaler(device)
conditions = {"encoder_hidden_states": torch.randn(1, 77, 64, device=device).half(),
              "added_cond_kwargs": {"text_embeds": torch.randn(1, 32, device=device),
                                    "time_ids": torch.tensor([[96.0, 96.0, 0.0, 0.0, 64.0, 64.0]], device=device)}}
for step in range(1, steps + 1):
    growing.scaling["default"] *= 1.0387  # what it is made to come by
    noise = torch.randn(1, 4, 8, 8, device=device)
    with torch.autocast(device, dtype=torch.float16):
        prediction = unet(noise.half(), torch.tensor([500], device=device), **conditions).sample
    loss = torch.nn.functional.mse_loss(prediction.float(), noise)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    if step % 50 == 0:
        print(step, loss.item(), scaler.get_scale(), flush=True)
