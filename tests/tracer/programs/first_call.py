"""The first op of the process runs inside of what makes a tensor of an array, a list or none."""

import sys

import numpy as np
import torch

ARRAY = np.arange(5) / 4
MAKERS = {
    "tensor": lambda: torch.tensor(ARRAY, device=torch.device("cpu")),
    "cast": lambda: torch.tensor(ARRAY, dtype=torch.float32),
    "loop": lambda: [torch.tensor(ARRAY, dtype=torch.float32) for _ in range(3)][-1],
    "as_tensor": lambda: torch.as_tensor(ARRAY),
    "from_numpy": lambda: torch.as_tensor(torch.from_numpy(ARRAY).float() + 1),
    "list": lambda: torch.tensor([1.5, 2.5]),
    "empty": lambda: torch.empty(3),
    "handed": lambda: (lambda maker, made: made)(torch.tensor, torch.empty(3)),
    "refused": lambda: refused() or torch.empty(3),
}


def refused():
    try:
        torch.tensor([1, "a"])
    except (TypeError, ValueError):
        return None


def main():
    made = MAKERS[sys.argv[1]]()
    print(made.dtype, (made * 2).dtype)


if __name__ == "__main__":
    main()
