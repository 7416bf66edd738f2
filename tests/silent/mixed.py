"""Numbers of the CPU that 16 bits damaged, beside tensors on a GPU: mixed.py kept|drawn."""

import sys

import torch


def chances():
    low = (torch.rand(512) + 1).cpu().bfloat16()
    return ((low * 100 + 0.25) - low * 100).float()


def main():
    torch.manual_seed(0)
    values, damaged = torch.zeros(512), chances()
    if sys.argv[1] == "kept":
        values.copy_(damaged)
    else:  # what becomes of them is not known
        values.bernoulli_(damaged)
    del damaged
    print(float(values.mean()))


main()
