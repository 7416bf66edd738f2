# A mask of a collator is floating, and ~ is Python's: no op is called.
# EXPECT-CURE ~mask.to(torch.bool)
import torch


def pooled(scores, mask):
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)


print(pooled(torch.randn(2, 3), torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])))
