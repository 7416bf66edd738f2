# The labels beside the features are whole numbers, and stay so.
# EXPECT-CURE x.to(next(model.parameters()).dtype)
# EXPECT-NOT y.to
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

rng = np.random.default_rng(0)
data = [(rng.normal(size=5), int(rng.integers(3))) for _ in range(16)]
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
for x, y in DataLoader(data, batch_size=8):
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
