# A batch is a dictionary of NumPy's Doubles: all of it is cast where it is drawn.
# EXPECT-CURE batch = {k: v.to(torch.float32) for k, v in batch.items()}
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
