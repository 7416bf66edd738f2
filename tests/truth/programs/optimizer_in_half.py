# Half parameters under Adam: no framework is in the process, so none of its helpers is named.
# EXPECT-CURE net = nn.Linear(4, 4)
# EXPECT-NOT cast_training_params
import torch
from torch import nn

net = nn.Linear(4, 4).half()
optimizer = torch.optim.Adam(net.parameters())
net(torch.rand(2, 4).half()).float().sum().backward()
optimizer.step()
