"""Positions that are rounded go through 64 residual blocks, in each of which they take two ways and come together again."""

import resource

import torch

resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))  # a tracer that notes each of the 2^64 ways dies of it


def main():
    positions = torch.arange(1000, 1032).to(torch.bfloat16).float()  # <- rounded
    x = torch.sin(positions)  # <- angle
    for _ in range(64):
        x = x + x * 0.01
    print(x.mean().item())


if __name__ == "__main__":
    main()
