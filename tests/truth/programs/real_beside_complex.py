# Real weights meet a spectrum: they become complex, since a real spectrum would lose its phase.
# EXPECT-CURE self.w.to(
import torch
from torch import nn


class Fourier(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(5, 4, 4))

    def forward(self, x):
        f = torch.fft.rfft(x, dim=1)
        y = torch.einsum("bkc,kcd->bkd", f, self.w)
        return torch.fft.irfft(y, n=x.shape[1], dim=1)


print(Fourier()(torch.randn(2, 8, 4)).shape)
