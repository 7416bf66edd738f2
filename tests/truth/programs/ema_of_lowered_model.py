# A moving average in Float is given a model that became BFloat16. A cast of what it is given cures the refusal and leaves lost
# updates; what raises the model for these needs that cast no more.
# EXPECT-CURE model.to(torch.float32)
# EXPECT-NOT p.to(s.dtype)
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = copy.deepcopy(model).requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - self.decay)


model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
ema = EMA(model, 0.99)
model.to(torch.bfloat16)
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(3):
    x = torch.randn(4, 8, dtype=torch.bfloat16)
    loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(model)
print("done")
