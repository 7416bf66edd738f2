"""A fault of a whole run: the weights that are trained were cast to Half with the rest. They are few and come of known values,
so the NaN is seen as well."""
import torch
from torch import nn

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).to("cuda", torch.float16)
optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
for step in range(3):
    loss = model(torch.randn(4, 64, device="cuda", dtype=torch.float16)).float().pow(2).mean()
    loss.backward()  # EXPECT non-finite-loss
    optimizer.step()  # EXPECT fp16-trainable, eps-underflow, lost-update
    optimizer.zero_grad()
