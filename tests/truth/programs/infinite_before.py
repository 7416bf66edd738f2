# log(0) makes an infinity that a mask takes out again, long before the change: no fault of the change.
# EXPECT-CURE layer(x.to(
import torch

torch.manual_seed(0)
position = torch.arange(8)
bias = torch.log(position.float())                # -inf at 0, as in the buckets of relative positions
bias = torch.where(position == 0, torch.zeros(8), bias)
layer = torch.nn.Linear(8, 4).half()
x = torch.randn(2, 8) + bias
with torch.no_grad():
    print(f"{layer(x).float().square().mean().item():.3f}")
