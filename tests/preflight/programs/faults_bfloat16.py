"""Faults of a whole run: BFloat16 weights are stepped without a Float copy, and averaged in BFloat16."""
import torch
from torch import nn

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).to("cuda", torch.bfloat16)
average = [p.detach().clone() for p in model.parameters()]
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for step in range(3):
    loss = model(torch.randn(4, 64, device="cuda", dtype=torch.bfloat16)).float().pow(2).mean()
    loss.backward()
    optimizer.step()  # EXPECT lost-update
    optimizer.zero_grad()
    for kept, p in zip(average, model.parameters()):
        kept.lerp_(p.detach(), 0.0001)  # EXPECT lost-increment
