# What is written into keeps its dtype: the new rows are cast, not the cache.
# EXPECT-CURE rows.to(
import torch

cache = torch.zeros(6, 4, dtype=torch.bfloat16)
rows = torch.rand(2, 4)
where = torch.tensor([1, 4])
cache[where] = rows
print(cache.sum())
