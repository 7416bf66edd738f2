# Inside of a GRUCell a linear layer has the hidden state for its input.
# EXPECT-CURE torch.zeros(2, 12, dtype=self.out.weight.dtype)
import torch
import torch.nn as nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 12)
        self.out = nn.Linear(12, 5)

    def forward(self, steps):
        h = torch.zeros(2, 12)
        x = torch.zeros(2, 8, dtype=self.out.weight.dtype)
        ys = []
        for _ in range(steps):
            h = self.cell(x, h)
            ys.append(self.out(h))
        return torch.stack(ys)


dec = Decoder().double()
print(dec(4).shape)
