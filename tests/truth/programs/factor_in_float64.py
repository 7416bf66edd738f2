# NumPy's Double reaches a layer.
# EXPECT-CURE .to(layer.weight.dtype)
import numpy as np
import torch
from torch import nn

layer = nn.Linear(3, 2)
features = torch.from_numpy(np.random.rand(5, 3))
print(layer(features).dtype)
