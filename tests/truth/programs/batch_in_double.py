# Both tensors of a batch come out of NumPy in Double: a cast of the first alone lets the loss refuse.
# EXPECT-CURE x, y = x.to(next(model.parameters()).dtype), y.to(next(model.parameters()).dtype)
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

rng = np.random.default_rng(0)
data = [(rng.normal(size=5), rng.normal()) for _ in range(16)]
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=8):
    loss = nn.functional.mse_loss(model(x).squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
