# What is written into keeps its dtype: the new rows are made in it, not the cache in theirs.
# EXPECT-CURE torch.rand(2, 4, dtype=cache.dtype)
import torch

cache = torch.zeros(6, 4, dtype=torch.bfloat16)
rows = torch.rand(2, 4)
where = torch.tensor([1, 4])
cache[where] = rows
print(cache.sum())
