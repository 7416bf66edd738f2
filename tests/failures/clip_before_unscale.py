# Gradients are clipped while they still have the scaler's factor.
# EXPECT rule=grad-scaler severity=warning line=here
# EXPECT-FIX unscale_
# EXIT 0
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu")
for step in range(3):
    inputs = torch.randn(4, 8)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = torch.nn.functional.mse_loss(net(inputs), inputs.sum(1, keepdim=True))
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # <- here
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
