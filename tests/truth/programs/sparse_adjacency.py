# A graph's adjacency that NumPy made in Double: spmm() is mm().
# EXPECT-CURE torch.spmm(adj.to(support.dtype), support)
import numpy as np
import torch
from torch import nn


class Convolution(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.weight = nn.Parameter(torch.full((a, b), 0.1))

    def forward(self, x, adj):
        support = torch.mm(x, self.weight)
        return torch.spmm(adj, support)


def normalized(n):
    adj = np.eye(n) + np.eye(n, k=1)
    index = np.stack(np.nonzero(adj))
    return torch.sparse_coo_tensor(torch.from_numpy(index), torch.from_numpy(adj[tuple(index)] / adj.sum(1)[index[0]]), (n, n))


torch.manual_seed(0)
net = Convolution(8, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
adj, x = normalized(12), torch.rand(12, 8)
for step in range(3):
    loss = net(x, adj).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.5f}")
