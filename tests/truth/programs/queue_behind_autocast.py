# Keys come out of autocast; the queue that they are written into stays in Float.
# EXPECT-CURE keys.to(queue.dtype)
import torch
import torch.nn as nn

encoder, queue = nn.Linear(6, 4), torch.zeros(8, 4)
with torch.autocast("cpu", dtype=torch.bfloat16):
    keys = encoder(torch.randn(2, 6)).detach()
queue.index_copy_(0, torch.arange(2), keys)
