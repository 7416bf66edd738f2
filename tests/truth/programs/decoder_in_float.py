# A decoder in Float is called by a method, so that nobody knows the model that its layers are of: 8 others in BFloat16 are another's.
# EXPECT-CURE self.first(x.to(self.first.weight.dtype))
# EXPECT-NOT self.last(
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(4)))

    def forward(self, x):
        return self.layers(x)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.last = nn.Linear(4, 1)

    def decode(self, x):
        x = self.first(x)
        return self.last(torch.relu(x))


torch.manual_seed(0)
model, decoder = Model().to(torch.bfloat16), Decoder()
with torch.no_grad():
    print(f"{decoder.decode(model(torch.rand(2, 4).to(torch.bfloat16))).sum():.3f}")
