"""Trains until the third step's exp overflows in the forward pass; later steps make NaN of everything.

values_in_time.py [GROWTH [STEPS]]: how much the input grows each step, 45 by default, in 5 steps.
"""

import sys

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, factor):
        y = (self.weight * factor).exp()  # <- overflow
        return (y - y.mean()).square().sum()  # <- difference


def main():
    growth = float(sys.argv[1]) if len(sys.argv) > 1 else 45.0
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for step in range(steps):
        loss = model(1.0 + growth * step)
        optimizer.zero_grad()
        loss.backward()  # <- backward
        optimizer.step()


if __name__ == "__main__":
    main()
