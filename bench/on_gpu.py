"""A program that makes its tensors on the CPU, run with them on the GPU: on_gpu.py PROGRAM ARGS…

The same lines run, so what is reported of them can be held against what the CPU's run is known to show.
"""

import os
import runpy
import sys

import torch

torch.set_default_device("cuda")


class Generator(torch.Generator):
    """One that is made without a device is the CPU's, and draws nothing for a tensor on the GPU."""

    def __new__(cls, device="cuda"):
        return super().__new__(cls, device)


torch.Generator = Generator
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
