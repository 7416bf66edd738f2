"""Ops that are left out inside of others, hundreds of times, and the same ops where the program calls them."""

import torch

library = torch.library.Library("tests", "DEF")
library.define("allocates(Tensor x) -> Tensor")


def allocates(x):
    torch.zeros_like(x)  # <- in own op
    torch.ops.aten.zeros_like.default(x)  # <- boxed in own op
    return torch.ops.aten.mm.default(x, x)  # <- product in own op


library.impl("allocates", allocates, "CompositeExplicitAutograd")


def main():
    with torch.profiler.record_function("before the first op"):
        pass
    x = torch.ones(4, 4)
    for _ in range(300):
        torch.ops.tests.allocates(x)  # <- inside
        torch.zeros_like(x)  # <- outside
        torch.ops.aten.zeros_like.default(x)  # <- boxed
        torch.ops.aten.relu.default(x.view(16))  # <- boxed as well
    print(torch.ops.tests.allocates(x).sum().item())


if __name__ == "__main__":
    main()
