# The argument stands on the line twice: the cure shows the call around it. Another line reads the other in Float.
# EXPECT-CURE torch.dot(x, y.to(x.dtype))
import torch

x, y = torch.rand(3).half(), torch.rand(3)
print(torch.dot(x, y), x.sum(), y.sum())
print(y.log_softmax(0))
