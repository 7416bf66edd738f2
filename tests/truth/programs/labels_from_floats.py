# Class labels that went through a cast of the whole batch.
# EXPECT-CURE labels.to(torch.int64)
import torch
import torch.nn.functional as F

labels = torch.tensor([1.0, 0.0, 2.0])
print(F.cross_entropy(torch.rand(3, 3), labels))
