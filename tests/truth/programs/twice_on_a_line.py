# The argument stands on the line twice: the cure shows the call around it.
# EXPECT-CURE torch.dot(x.to(y.dtype), y)
import torch

x, y = torch.rand(3).half(), torch.rand(3)
print(torch.dot(x, y), x.sum())
