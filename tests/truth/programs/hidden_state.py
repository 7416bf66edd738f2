# The hidden states alone are in Half: autocast does not help, a cast of the pair does.
# EXPECT-CURE second.to(next(rnn.parameters()).dtype)
import torch
from torch import nn

rnn = nn.LSTM(3, 5)
first = torch.zeros(1, 2, 5).half()
second = torch.zeros(1, 2, 5).half()
out, _ = rnn(torch.rand(4, 2, 3), (first, second))
print(out.dtype)
