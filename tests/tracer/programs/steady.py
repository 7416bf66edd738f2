"""300 tiny steps; a dtype error in one of them, caught. Prints a hash of the weights."""

import hashlib

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, 301):
        model(torch.randn(2, 4)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 250:
            try:
                model(torch.ones(2, 4, dtype=torch.float64))  # <- mixed
            except RuntimeError as error:
                print(error)
    print(hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest())


if __name__ == "__main__":
    main()
