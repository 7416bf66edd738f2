# A batch is a dictionary of NumPy's Doubles: what the model is given of it is cast, since a cast of all would take integers along.
# EXPECT-CURE model(batch["x"].to(next(model.parameters()).dtype))
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

rng = np.random.default_rng(0)
data = [{"x": rng.normal(size=5), "y": rng.normal(size=1)} for _ in range(16)]
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
for batch in DataLoader(data, batch_size=8):
    loss = nn.functional.mse_loss(model(batch["x"]), batch["y"])
    loss.backward()
