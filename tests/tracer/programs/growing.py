"""growing.py PLANT STEPS [DEVICE]: a small model under autocast in Half, and what becomes of the largest activation of net.mid."""
import sys

import torch

plant, steps = sys.argv[1], int(sys.argv[2])
device = sys.argv[3] if len(sys.argv) > 3 else "cpu"
torch.manual_seed(0)


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(16, 16)
        self.factor = 8.0

    def forward(self, x):
        return self.inner(x) * self.factor  # <- grows


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(16, 16)
        self.mid = Scaled()
        self.norm = torch.nn.LayerNorm(16)
        self.last = torch.nn.Linear(16, 1)

    def forward(self, x):
        return self.last(self.norm(self.mid(torch.relu(self.first(x)))))


FACTORS = {
    "overflow": lambda step: 8 * 1.08**step,
    "bounded": lambda step: 8 + 2000 * (1 - 0.95**step),
    "noisy": lambda step: 8 * 2.0**((step * 7919) % 11),
    "steady": lambda step: 8.0,
}
net = Net().to(device)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler(device)
for step in range(1, steps + 1):
    net.mid.factor = FACTORS[plant](step)
    x = torch.randn(8, 16, device=device)
    with torch.autocast(device, dtype=torch.float16):
        loss = (net(x).float() - x.sum(1, keepdim=True)).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    print("step", step)
