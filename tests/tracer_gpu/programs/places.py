"""The same op on two devices, and on two streams of one, with another one between them."""
import torch

layer = torch.nn.Linear(4, 4)
layer(torch.ones(1, 4)).sum().backward()  # training begins
first, second = (torch.ones(4, device=f"cuda:{which}") for which in (0, 1))
side = torch.cuda.Stream(0)
first.exp()
with torch.cuda.stream(side):
    first.sin()
with torch.cuda.device(1):
    second.cos()
first.exp()
moved = first.to("cuda:1")
