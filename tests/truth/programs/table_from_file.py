# A table that was saved in Float meets what a BFloat16 model computes: the table keeps its digits.
# EXPECT-CURE states.to(table.dtype)
# EXPECT-NOT table.to(
import io

import torch
from torch import nn

torch.manual_seed(0)
file = io.BytesIO()
torch.save(torch.linalg.qr(torch.rand(4, 4)).Q, file)
file.seek(0)


def turned(states, table):
    return torch.einsum("nc,cb->nb", states, table)


model = nn.Linear(4, 4).to(torch.bfloat16)
states = model(torch.rand(8, 4).to(torch.bfloat16)).detach()
print(f"{turned(states, torch.load(file)).pow(2).sum():.3f}")
