"""A training step on a GPU with kernels of LibTorch's own, forward, backward and in the optimizer; with an argument under
torch.profiler: it prints each kernel with the ops that it is in, innermost first."""
import json
import sys

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(100, 64)
        self.norm = nn.LayerNorm(64)
        self.attention = nn.MultiheadAttention(64, 4, batch_first=True)
        self.depthwise = nn.Conv1d(64, 64, 3, groups=64, padding=1)
        self.head = nn.Linear(64, 100)

    def forward(self, tokens):
        x = self.norm(self.words(tokens))
        x = x + self.attention(x, x, x, need_weights=False)[0]
        x = functional.gelu(self.depthwise(x.transpose(1, 2))).transpose(1, 2)
        return self.head(functional.dropout(x, 0.1))


model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)


def step():
    tokens = torch.randint(0, 100, (2, 16), device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        loss = functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


if len(sys.argv) == 1:
    step()
else:
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as watched:
        step()
        torch.cuda.synchronize()
    kernels = []
    for event in watched.events():
        ops, around = [], event
        while around is not None:
            ops.append(around.name)
            around = around.cpu_parent
        kernels += [(kernel.name, ops) for kernel in event.kernels if not kernel.name.startswith("Mem")]
    print(json.dumps(kernels))
