# A whole float16 UNet is trained by AdamW with its default eps, which is 0 in float16: a weight that has no gradient
# (or one whose square is 0 in float16) becomes NaN or inf in the first step. No exception, exit status 0.
# EXPECT rule=eps-underflow severity=error line=here
# EXPECT-FIX parameters in Float
# EXPECT rule=fp16-trainable severity=error line=here
# EXPECT-FIX unet
# EXPECT rule=lost-update severity=warning line=here
# EXPECT-FIX unet
# EXPECT rule=non-finite-loss severity=error line=loss
# EXIT 0
import sys

import torch
from diffusers import UNet2DConditionModel
from sdxl_batch import random_batch, random_target

unet = UNet2DConditionModel.from_pretrained(sys.argv[1], subfolder="unet", torch_dtype=torch.float16)
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)
for step in range(2):
    prediction = unet(**random_batch(torch.float16)).sample
    loss = torch.nn.functional.mse_loss(prediction.float(), random_target())
    loss.backward()  # <- loss
    optimizer.step()  # <- here
    optimizer.zero_grad()
    print(f"loss {loss.item():.4f}")
lost = sum(1 for p in unet.parameters() if not torch.isfinite(p).all())
print(f"{lost} tensors are not finite")
