"""A program that makes its tensors on the CPU, run with them on the GPU: on_gpu.py PROGRAM ARGS…

The same lines run, so what is reported of them can be held against what the CPU's run is known to show.
"""

import os
import runpy
import sys
from pathlib import Path

import torch

torch.set_default_device("cuda")


class Generator(torch.Generator):
    """One that is made without a device is the CPU's, and draws nothing for a tensor on the GPU."""

    def __new__(cls, device="cuda"):
        return super().__new__(cls, device)


def load_on_gpu(kind):
    """What is loaded lies on the CPU, whatever the default device is."""
    load = kind.from_pretrained.__func__
    kind.from_pretrained = classmethod(lambda model, *args, **kwargs: load(model, *args, **kwargs).to("cuda"))


torch.Generator = Generator
if "from_pretrained" in Path(sys.argv[1]).read_text():
    import diffusers
    import transformers

    for kind in (diffusers.ModelMixin, transformers.PreTrainedModel):
        load_on_gpu(kind)
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
