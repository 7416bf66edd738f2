"""Operators whose kernels are written in Python."""

import torch


@torch.library.custom_op("tests::early", mutates_args=())
def early(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.mm(x, weight)


def main():
    x, half = torch.ones(4, 4), torch.ones(4, 4, dtype=torch.half)

    @torch.library.custom_op("tests::late", mutates_args=())
    def late(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    early(x, x)  # <- early
    late(half)  # <- late
    leaf = torch.ones(4, 4, requires_grad=True)
    early.register_autograd(lambda context, grad: (grad, grad))
    early(leaf, x).sum().backward()
    print("grad", leaf.grad.sum().item())
    try:
        early(x, half)  # <- mixed
    except RuntimeError as error:
        print("refused", error)


if __name__ == "__main__":
    main()
