"""The Python half of the fused norm: an autograd function around the extension, and the module that replaces T5's norm."""

import fused_rms_norm_cpu
import torch


class FusedRMSNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, eps):
        return fused_rms_norm_cpu.rms_norm(input.contiguous(), weight, eps)  # <- extension


class FusedRMSNorm(torch.nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(hidden_size))
        self.eps = eps

    def forward(self, hidden_states):
        return FusedRMSNormFunction.apply(hidden_states, self.weight, self.eps)
