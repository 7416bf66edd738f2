# A buffer in Double is stacked of two tensors, so that no one line that makes it can be cast.
# EXPECT-CURE self.filters.to(x.dtype)
import torch
import torch.nn as nn
import torch.nn.functional as F


class Wavelet(nn.Module):
    def __init__(self):
        super().__init__()
        low = torch.tensor([0.7071, 0.7071], dtype=torch.float64)
        high = torch.tensor([0.7071, -0.7071], dtype=torch.float64)
        self.register_buffer("filters", torch.stack([low, high])[:, None])

    def forward(self, x):
        return F.conv1d(x, self.filters, stride=2)


net = nn.Sequential(nn.Conv1d(2, 1, 3, padding=1), Wavelet(), nn.Conv1d(2, 1, 3))
print(net(torch.randn(1, 2, 16)).dtype)
