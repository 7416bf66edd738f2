"""A gradient becomes NaN while the loss is finite, and the program reads its norm, as it logs it; or asks for it (any argument)."""

import sys

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, factor):
        return (self.weight * factor).abs().sqrt().sum()


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
asks = len(sys.argv) > 1
for step in range(2):
    loss = model(1.0 - step)
    optimizer.zero_grad()
    loss.backward()
    if asks:
        fine = bool(torch.isfinite(model.weight.grad).all())  # <- asked
    else:
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9).item()  # <- norm
    assert loss.isfinite()
    optimizer.step()
