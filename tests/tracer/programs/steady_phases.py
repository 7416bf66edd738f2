"""60 tiny steps, with an evaluation behind the 45th: what it does is done in no other step."""

import torch
from torch import nn


def evaluate(model):
    with torch.no_grad():
        return [model(torch.ones(2, 4)) + torch.ones(1).double().half() for _ in range(3)]  # <- evaluation


def main():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, 61):
        model(torch.randn(2, 4)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 45:
            evaluate(model)


if __name__ == "__main__":
    main()
