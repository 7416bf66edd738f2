"""Makes non-finite values: at one line from finite operands, at the others from what was not finite before, or on purpose."""

import torch


def overflow():
    x = torch.full((4,), 300.0).half()
    y = x * x  # <- first inf
    return y - y  # <- nan of inf


def masked():
    scores = torch.zeros(2, 2).masked_fill(torch.tensor([[False, True], [False, False]]), float("-inf"))  # <- mask
    return scores.softmax(-1)  # <- softmax


def short_targets():
    """Of the steps that are kept for the backward pass, those behind a short target are memory that nobody writes."""
    left = [torch.full((2, 50, 41), float("nan")) for _ in range(4)]
    del left
    scores = torch.zeros(50, 2, 5).log_softmax(-1)
    torch.nn.functional.ctc_loss(scores, torch.ones(2, 20, dtype=torch.long), torch.tensor([50, 9]), torch.tensor([20, 2]))  # <- short targets


def main():
    w = torch.zeros(3, requires_grad=True)
    torch.log(w.detach() + 1)  # <- finite
    masked()
    short_targets()
    overflow()
    bad = torch.zeros(2) / torch.zeros(2)  # <- later nan
    bad + 1  # <- nan goes on


if __name__ == "__main__":
    main()
