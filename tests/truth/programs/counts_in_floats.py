# The message names the operand that has to be integers.
# EXPECT-CURE torch.full((2,), 10.0, dtype=
import torch
import torch.nn.functional as F

scores = torch.randn(10, 2, 5, requires_grad=True).log_softmax(-1)
targets = torch.randint(1, 5, (2, 3))
loss = F.ctc_loss(scores, targets, torch.full((2,), 10.0), torch.full((2,), 3))
loss.backward()
