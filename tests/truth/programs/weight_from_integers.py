# Integers and their scale make a weight in Float, in a model that was lowered around it.
# EXPECT-CURE nn.functional.linear(x.to(torch.float32), w, self.bias).to(x.dtype)
import torch
import torch.nn as nn


class QLinear(nn.Module):
    def __init__(self, linear):
        super().__init__()
        weight = linear.weight.detach()
        self.register_buffer("scale", weight.abs().amax(dim=1, keepdim=True) / 127)
        self.register_buffer("codes", torch.round(weight / self.scale).to(torch.int8))
        self.bias = nn.Parameter(linear.bias.detach(), requires_grad=False)

    def forward(self, x):
        w = self.codes * self.scale
        return nn.functional.linear(x, w, self.bias)


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 12)
        self.ff = QLinear(nn.Linear(12, 12))
        self.norm = nn.LayerNorm(12)

    def forward(self, ids):
        h = self.emb(ids)
        return self.norm(h + self.ff(h))


model = Tiny()
model.emb.half()
model.norm.half()
with torch.no_grad():
    print(model(torch.randint(0, 30, (2, 5))).dtype)
