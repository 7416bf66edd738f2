# Autocast is open already, so the model need not be Half.
# EXPECT-CURE model = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 2))
import torch
import torch.nn as nn
import torch.nn.functional as F

model = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 2)).half()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu")


def train_step(x, y):
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    return loss


for _ in range(3):
    print(train_step(torch.randn(4, 10), torch.randint(0, 2, (4,))).item())
