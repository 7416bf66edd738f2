# What meets the layer is a reshaped copy; the table made the sum Double two modules before.
# EXPECT-CURE torch.from_numpy(table).to(torch.float32)
import numpy as np
import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, dim, length=64):
        super().__init__()
        angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, dim, 2) / dim)
        table = np.zeros((length, dim))
        table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
        self.register_buffer("table", torch.from_numpy(table))

    def forward(self, x):
        return x + self.table[: x.shape[1]]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 16)
        self.pos = PositionalEncoding(16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def forward(self, ids):
        return self.layer(self.pos(self.embed(ids)))


encoder = Encoder()
out = encoder(torch.randint(0, 100, (2, 7)))
print(out.shape)
