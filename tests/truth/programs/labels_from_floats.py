# Class labels that are made of floats: Long where they are made.
# EXPECT-CURE labels = torch.tensor([1.0, 0.0, 2.0], dtype=torch.int64)
import torch
import torch.nn.functional as F

labels = torch.tensor([1.0, 0.0, 2.0])
print(F.cross_entropy(torch.rand(3, 3), labels))
