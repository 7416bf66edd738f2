# The message names the operand that has to be integers.
# EXPECT-CURE counts_in_floats.py:8: torch.full((2,), 10.0).to(torch.int64)
import torch
import torch.nn.functional as F

scores = torch.randn(10, 2, 5, requires_grad=True).log_softmax(-1)
targets = torch.randint(1, 5, (2, 3))
loss = F.ctc_loss(scores, targets, torch.full((2,), 10.0), torch.full((2,), 3))
loss.backward()
