# Two like calls on one line are given the same tensor.
# EXPECT-CURE torch.quantile(flat.to(torch.float32), high) - torch.quantile(flat.to(torch.float32), low)
import torch
import torch.nn as nn


def robust_scale(features, low=0.05, high=0.95):
    flat = features.flatten()
    span = torch.quantile(flat, high) - torch.quantile(flat, low)
    return (features - flat.median()) / span


net = nn.Sequential(nn.Linear(6, 6), nn.Tanh())
net.bfloat16()
data = torch.randn(32, 6).bfloat16()
with torch.no_grad():
    z = net(data)
    w = robust_scale(z)
print(w.shape)
