# Half logits beside Float class weights: a loss is computed in Float, from where they are made.
# EXPECT-CURE torch.rand(4, 3).float()
import torch
import torch.nn.functional as F

logits = torch.rand(4, 3).half()
labels = torch.tensor([0, 2, 1, 1])
print(F.cross_entropy(logits, labels, weight=torch.tensor([1.0, 2.0, 0.5])))
