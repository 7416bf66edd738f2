# Two tables in Double raise two products of a line: to cast one leaves the sum in Double. Two layers read it, so
# that it is cast where the model is called.
# EXPECT-CURE .to(next(net.parameters()).dtype)).dtype)
import numpy as np
import torch
import torch.nn as nn


class Schedule:
    def __init__(self, n):
        kept = np.cumprod(1 - np.linspace(1e-4, 2e-2, n))
        self.signal = torch.from_numpy(np.sqrt(kept))
        self.noise = torch.from_numpy(np.sqrt(1 - kept))

    def pick(self, table, t):
        return table[t].view(-1, 1)

    def noisy(self, x, t, noise):
        return self.pick(self.signal, t) * x + self.pick(self.noise, t) * noise


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(4, 4)
        self.skip = nn.Linear(4, 4)

    def forward(self, x):
        h = self.inp(x)
        return h + self.skip(x)


schedule, net, x = Schedule(100), Net(), torch.randn(2, 4)
print(net(schedule.noisy(x, torch.randint(0, 100, (2,)), torch.randn_like(x))).dtype)
