# A list of averages in Half is moved towards a list of weights in Float: what NumPy gave is kept in Float.
# EXPECT-CURE torch.from_numpy(a.astype("float16")).to(torch.float32)
import torch
import torch.nn as nn

model = nn.Linear(4, 2)
averages = [torch.tensor(p.tolist(), dtype=torch.float64).numpy() for p in model.parameters()]
averages = [torch.from_numpy(a.astype("float16")) for a in averages]
now = [p.detach() for p in model.parameters()]
torch._foreach_lerp_(averages, now, 0.1)
