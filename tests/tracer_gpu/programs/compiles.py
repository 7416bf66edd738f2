"""A model that torch.compile makes Triton's kernels of, and a chain in BFloat16 that it computes in Float."""
import torch

model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.GELU()).cuda()
compiled = torch.compile(model)
chain = torch.compile(lambda x: x * 1.1 * 0.9)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    compiled(torch.randn(4, 16, device="cuda")).sum().backward()
    chain(torch.randn(4, 16, device="cuda", dtype=torch.bfloat16))
    optimizer.step()
    optimizer.zero_grad()
