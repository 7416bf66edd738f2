import torch
from torch.nn.modules.module import Module


class Leaf(Module):
    def __init__(self):
        super().__init__()
        self._parameters["weight"] = None

    def forward(self, *args):
        return torch.op()


class Sequential(Module):
    def __init__(self, *modules):
        super().__init__()
        for i, module in enumerate(modules):
            self._modules[str(i)] = module

    def forward(self, *args):
        result = None
        for module in self._modules.values():
            result = module(*args)
        return result
