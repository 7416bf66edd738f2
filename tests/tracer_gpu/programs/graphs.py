"""CUDA graphs: what is captured runs at each replay, and belongs to the op that was captured."""
import torch

x = torch.ones(8, device="cuda")
side = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x.exp()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y.sin()
    torch.cuda.current_stream().wait_stream(side)
for _ in range(3):
    graph.replay()
x.cos()

model = torch.cuda.make_graphed_callables(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU()).cuda(), (torch.randn(2, 8, device="cuda"),))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.randn(2, 8, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    print("stepped", flush=True)
