# A moving average of all of a state has a batch norm's counter among its tensors: it alone is left out, and the rest is written in place.
# EXPECT-CURE if not average.is_floating_point():
# EXPECT-NOT average = average.mul
import torch
from torch import nn


class Average:
    def __init__(self, model, decay):
        self.averages, self.decay = [t.clone() for t in model.state_dict().values()], decay
        self.tensors = list(model.state_dict().values())

    def step(self):
        for average, tensor in zip(self.averages, self.tensors):
            average.mul_(self.decay)
            average.add_(tensor * (1 - self.decay))


model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
average = Average(model, 0.9)
for _ in range(2):
    model(torch.rand(8, 4))
    average.step()
print(f"{sum(t.sum() for t in average.averages):.3f}")
