# RAdam of several weights at once steps its averages and the weights by the same op: the weights are told all the same.
# EXPECT rule=lost-update severity=warning op=aten::_foreach_addcmul_ odd=self[0] line=here
# EXPECT-FIX Float
# EXIT 0
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)).bfloat16()
optimizer = torch.optim.RAdam(net.parameters(), lr=1e-5, foreach=True)
for step in range(4):
    x = torch.randn(64, 16).bfloat16()
    (net(x).float() - x.float().sum(1, keepdim=True)).square().mean().backward()
    optimizer.step()  # <- here
    optimizer.zero_grad()
