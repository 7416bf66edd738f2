# The number stands before the tensor that it is added to, which is in Half: it is 0 there.
# EXPECT-CURE torch.log(1e-10 + losses.to(torch.float32))
import torch

torch.manual_seed(0)
losses = torch.rand(64, dtype=torch.float16)
losses[::3] = 0
for _ in range(3):
    print(torch.log(1e-10 + losses).mean().item())
