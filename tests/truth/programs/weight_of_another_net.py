# A net computes the weight of a layer in a model in BFloat16, whose norm behind it wants BFloat16.
# EXPECT-CURE w.to(h.dtype)
import torch
import torch.nn as nn
import torch.nn.functional as F


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(4, 10)
        self.norm = nn.LayerNorm(10)

    def forward(self, x, w):
        h = self.inp(x)
        return self.norm(F.linear(h, w))


hyper = nn.Sequential(nn.Linear(6, 100), nn.Unflatten(0, (10, 10)))
student = Student().to(torch.bfloat16).requires_grad_(False)
loss = student(torch.randn(3, 4, dtype=torch.bfloat16), hyper(torch.randn(6))).float().mean()
loss.backward()
print(hyper[0].weight.grad.dtype)
