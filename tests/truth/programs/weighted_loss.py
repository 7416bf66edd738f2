# Half logits of a model beside Float class weights: a loss is computed in Float.
# EXPECT-CURE logits.to(torch.float32)
import torch
import torch.nn as nn
import torch.nn.functional as F

net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 3)).half()
logits = net(torch.rand(4, 4).half())
labels = torch.tensor([0, 2, 1, 1])
print(F.cross_entropy(logits, labels, weight=torch.tensor([1.0, 2.0, 0.5])))
