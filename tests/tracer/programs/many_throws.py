"""Refused at thousands of lines, each caught; a program that tries what works does so."""

import torch

a, b = torch.ones(2, 2), torch.ones(2, 2).half()
for line in range(1, 3500):
    try:
        exec(compile("\n" * line + "torch.mm(a, b)", "tried.py", "exec"))
    except RuntimeError:
        pass
