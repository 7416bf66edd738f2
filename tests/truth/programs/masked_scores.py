# -1e12 is no Half number.
# EXPECT-CURE torch.finfo(scores.dtype).min
import torch

scores = torch.rand(3, 3).half()
print(scores.masked_fill(scores > 0.5, -1e12).shape)
