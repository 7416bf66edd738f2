# Masters in Float get the gradients of a model in BFloat16: the gradient is cast, not the masters.
# EXPECT-CURE p.grad
import torch
from torch import nn

net = nn.Linear(4, 4).to(torch.bfloat16)
masters = [p.detach().clone().float() for p in net.parameters()]
optimizer = torch.optim.SGD(masters, lr=0.1)
net(torch.randn(2, 4, dtype=torch.bfloat16)).sum().backward()
for m, p in zip(masters, net.parameters()):
    m.grad = p.grad
optimizer.step()
