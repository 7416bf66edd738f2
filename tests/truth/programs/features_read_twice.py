# What leaves the region is read by two layers, and a cast for one of them lets the other refuse it.
# EXPECT-CURE self.decoder(f.to(self.decoder.weight.dtype))
# EXPECT-CURE self.aux(f.mean((2, 3)).to(self.aux.weight.dtype))
import torch
import torch.nn as nn


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Conv2d(3, 8, 3, padding=1)
        self.decoder = nn.Conv2d(8, 4, 1)
        self.aux = nn.Linear(8, 4)

    def features(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.relu(self.encoder(x))

    def forward(self, x):
        f = self.features(x)
        mask = self.decoder(f)
        return mask, self.aux(f.mean((2, 3)))


mask, label = Segmenter()(torch.rand(2, 3, 8, 8))
(mask.sum() + label.sum()).backward()
