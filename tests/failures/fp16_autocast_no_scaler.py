# Float layers under autocast in Half, and no gradient scaler: small gradients are 0.
# EXPECT rule=grad-scaler severity=warning line=here
# EXPECT-FIX torch.amp.GradScaler
# EXIT 0
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(3):
    inputs = torch.randn(4, 8)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = torch.nn.functional.mse_loss(net(inputs), inputs.sum(1, keepdim=True))
    loss.backward()  # <- here
    optimizer.step()
    optimizer.zero_grad()
