"""growing_frozen.py STEPS DEVICE: a Half model that computes without gradients, and one weight that an optimizer steps by a gradient
written by hand: values that a pretended GPU knows."""
import sys

import torch

steps, device = int(sys.argv[1]), sys.argv[2]
torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mid = torch.nn.Linear(16, 16)
        self.factor = 8.0

    def forward(self, x):
        return self.mid(x) * self.factor


net = Net().to(device).half()
head = torch.nn.Linear(16, 1, bias=False).to(device)
optimizer = torch.optim.SGD(head.parameters(), lr=0.5, momentum=0.9)
for step in range(1, steps + 1):
    net.factor = 8 * 1.08**step
    x = torch.linspace(-1, 1, 128).reshape(8, 16).to(device).half()
    with torch.no_grad():
        net(x)
    head.weight.grad = torch.full((1, 16), 0.25, device=device)
    head.weight.grad[0, :4] = 0
    optimizer.step()
