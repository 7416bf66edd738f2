"""A model that torch.compile makes Triton's kernels of."""
import torch

model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.GELU()).cuda()
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    compiled(torch.randn(4, 16, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
