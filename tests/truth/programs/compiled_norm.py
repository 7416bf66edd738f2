# A compiled function has its first line for its place, around which no region can be opened: the model's call has one.
# EXPECT-CURE with torch.autocast(
import torch
import torch.nn as nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 16, bias=False)

    def forward(self, x):
        return self.up(x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6))


net = Scaled().to(torch.bfloat16)
print(torch.compile(net, backend="eager")(torch.randn(2, 8, dtype=torch.bfloat16)).dtype)
