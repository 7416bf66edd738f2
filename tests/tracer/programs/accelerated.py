"""A step of accelerate's own, in the precision that the launcher was given."""

import os

import torch
from accelerate import Accelerator


def main():
    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(3, 1)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
    loss = model(torch.ones(2, 3)).sum()  # <- model
    accelerator.backward(loss)
    optimizer.step()
    print("main", os.getpid(), accelerator.mixed_precision)


if __name__ == "__main__":
    main()
