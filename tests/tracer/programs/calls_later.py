"""Ops that call others always, never, and from some call on."""

import torch
import torch.nn.functional as F

calls = 0
library = torch.library.Library("tests", "DEF")


def op(schema):
    def define(function):
        library.define(schema)
        library.impl(function.__name__, function, "CompositeExplicitAutograd")
        return getattr(torch.ops.tests, function.__name__)
    return define


@op("calls_later(Tensor x) -> Tensor")
def calls_later(x):
    global calls
    calls += 1
    return torch.mm(x, x) if calls > 150 else torch.empty_like(x)  # <- own product


@op("throws_late(Tensor x, Tensor other) -> Tensor")
def throws_late(x, other):
    global calls
    calls += 1
    return torch.mm(x, other) if calls == 200 else torch.empty_like(x)  # <- own throw


def pack(saved):
    global calls
    calls += 1
    return torch.mul(saved, 2) if calls > 150 else saved


def main():
    global calls
    x, weight, bias = torch.ones(4, 4), torch.ones(4, 4), torch.ones(4)
    for _ in range(300):
        y = F.linear(x, weight, bias)  # <- linear
        y.mul_(0.5)  # <- in place
        calls_later(x)  # <- later
    leaf = torch.ones(4, requires_grad=True)
    for _ in range(300):
        z = torch.tanh(leaf)  # <- backward
        z.sum().backward()
    calls = 0
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed):
        for _ in range(300):
            torch.tanh(leaf)  # <- hooked
    calls = 0
    half = x.half()
    for _ in range(250):
        try:
            throws_late(x, half)
        except RuntimeError as error:
            print("refused", error)
    print(y.sum().item(), leaf.grad.sum().item())


if __name__ == "__main__":
    main()
