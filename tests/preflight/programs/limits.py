"""Asks for more than there is: memory, a second GPU, another process's memory. Ends as a program does that runs out of it."""
import torch

try:
    torch.cuda.set_device(1)
except Exception as error:
    print("device:", str(error).splitlines()[0])
print("total", torch.cuda.mem_get_info()[1] >> 20)
held = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(3)]
print("reserved", torch.cuda.memory_reserved() >> 30)
layer = torch.nn.Linear(1 << 14, 1 << 14, device="cuda", dtype=torch.float64)
print("not here")
