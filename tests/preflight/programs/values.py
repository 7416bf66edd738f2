"""What values become on a GPU, by samples that are copied there: each once damaged, and once not."""
import torch


def ramp(size):
    return torch.linspace(0.1, 3, 3000, device="cuda") * size


def steps(first):
    return torch.arange(first, first + 10, device="cuda")


def summed(count, dtype):
    total = torch.zeros((), device="cuda", dtype=dtype)
    for _ in range(count):
        total += 1  # EXPECT lost-increment
    return total


def trained(dtype, count):
    torch.manual_seed(0)
    layer = torch.nn.Linear(64, 8).to("cuda", dtype)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1e-6)
    for _ in range(count):
        layer(torch.ones(4, 64, device="cuda", dtype=dtype)).float().square().mean().backward()
        optimizer.step()  # EXPECT lost-update
        optimizer.zero_grad()


ramp(1e5).to(torch.float16)  # EXPECT lossy-cast
ramp(1e4).to(torch.float16)
ramp(1e-9).to(torch.float16)  # EXPECT lossy-cast
ramp(1e-2).to(torch.float16)
steps(990).to(torch.bfloat16)  # EXPECT low-precision-index
steps(90).to(torch.bfloat16)
(torch.full((64,), 300.0, device="cuda", dtype=torch.float16) * 300).sum()  # EXPECT far-from-float
# What sum() calls inside has given nothing yet, and its result lies where an infinity was: no first-non-finite.
torch.full((64,), 3000.0, device="cuda", dtype=torch.float16).sum()  # EXPECT far-from-float
torch.full((64,), 30.0, device="cuda", dtype=torch.float16).sum()
summed(600, torch.bfloat16)
summed(600, torch.float32)
trained(torch.bfloat16, 2)
trained(torch.float32, 1)
