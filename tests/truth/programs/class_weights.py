# The weights of a loss are no layer's: the logits are right.
# EXPECT-CURE torch.tensor(counts.sum() / (n * np.maximum(counts, 1)), dtype=torch.float32)
import numpy as np
import torch
import torch.nn as nn


def class_weights(labels, n):
    counts = np.bincount(labels, minlength=n)
    return torch.tensor(counts.sum() / (n * np.maximum(counts, 1)))


labels = np.random.randint(0, 3, 60)
criterion = nn.CrossEntropyLoss(weight=class_weights(labels, 3))
model = nn.Linear(4, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(0, 60, 20):
    x = torch.randn(20, 4)
    y = torch.from_numpy(labels[i : i + 20])
    loss = criterion(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
