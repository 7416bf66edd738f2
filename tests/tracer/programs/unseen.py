"""Faults in steps that are not looked at, one a step from the tenth on, each caught; at last a loss that is NaN."""

import torch
from torch import nn
from torch.nn import functional as F


def in_module(model, x):
    model(x.double())  # <- module


def in_operator(model, x):
    scale, shift = torch.ones(4), torch.ones(4, dtype=torch.float64)
    return (x + scale) @ x.half().t() + shift  # <- operator


def in_function(model, x):
    return F.layer_norm(x, (4,), torch.ones(4).half())  # <- function


def in_method(model, x):
    torch.zeros(2, 4).index_add_(0, torch.tensor([0, 1]), x.half())  # <- method


def in_store(model, x):
    torch.zeros(2, 4)[torch.tensor([0, 1])] = x.half()  # <- store


def in_keyword(model, x):
    torch.mm(x, x.t(), out=torch.zeros(2, 2).half())  # <- keyword


def in_list(model, x):
    return torch.einsum("ij,kj->ik", x, x.half())  # <- list


def in_place(model, x):
    torch.ones(4, dtype=torch.int64).add_(torch.ones(4))  # <- place


def as_before(model, x):
    return x @ torch.ones(4, 4).half()  # <- before


def in_autocast(model, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.mm(x, x.double().t())  # <- autocast


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return gradient @ torch.eye(1).half()  # <- backward


def in_backward(model, x):
    Scaled.apply(model(x)).sum().backward()


def of_its_own(model, x):
    raise RuntimeError("nothing of dtypes")


FAULTS = [in_module, in_operator, in_function, in_method, in_store, in_keyword, in_list, in_place, as_before, in_autocast, in_backward, of_its_own]


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, 31):
        x = torch.randn(2, 4)
        if 10 <= step < 10 + len(FAULTS):
            try:
                FAULTS[step - 10](model, x)
            except RuntimeError as error:
                print(step, error)
            model.zero_grad()
        loss = model(x).square().mean()
        if step == 28:
            loss = loss * float("nan")
        loss.backward()  # <- loss
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
