"""Makes parameters and tensors in every way that test_origins.py knows, and reads each in an op.

    origins.py FOLDER      what is saved and loaded lies there
"""

import os
import sys

import numpy as np
import torch
import torch.utils._device
from safetensors.torch import load_file, save_file
from torch import nn

torch.manual_seed(0)
folder = sys.argv[1]
factories = [torch.tensor, torch.as_tensor, torch.asarray, torch.frombuffer]
hashed_before = set(factories)
torch.utils._device._device_constructors()  # a set of torch's own, in which a device as a context looks a factory up


def trained(module):
    """An optimizer that is about to step the module's parameters."""
    dtype = next(module.parameters()).dtype
    module(torch.ones(2, 4, dtype=dtype)).float().sum().backward()
    return torch.optim.SGD(module.parameters(), lr=1e-2)


first = torch.from_numpy(np.ones(2))  # <- first
first + 1  # <- read first



spectrum = torch.fft.rfft(torch.ones(4))
real, _ = torch.view_as_real(spectrum).unbind(-1)  # <- parts
real + 1  # <- read parts
spectrum + 1  # <- read spectrum

values = torch.from_numpy(np.ones(2))  # <- values
graph = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), values, (2, 2))
torch.sparse.mm(graph, torch.ones(2, 2, dtype=torch.float64))  # <- read graph
single = graph.to(torch.float32)  # <- single
torch.sparse.mm(single, torch.ones(2, 2))  # <- read single


def chosen(tensor):
    return tensor[torch.tensor([0, 1])]  # <- chosen


scores = torch.randn(4)  # <- scores
labels = torch.zeros(4)  # <- labels
chosen(scores) + 1  # <- read scores
chosen(labels) + 1  # <- read labels
chosen(scores * 2) + 1

half = nn.Linear(4, 4)
half.half()  # <- half
trained(half).step()  # <- step half

to = nn.Linear(4, 4)
to.to(torch.bfloat16)  # <- to
trained(to).step()  # <- step to



class HandsOn(nn.Linear):
    def to(self, *args, **kwargs):
        return super().to(*args, **kwargs)


class Asks(nn.Linear):
    def to(self, dtype, **kwargs):
        return super().to(dtype, **kwargs)  # <- own to


handed = HandsOn(4, 4)
handed.to(torch.bfloat16)  # <- handed
trained(handed).step()  # <- step handed

asking = Asks(4, 4)
asking.to(torch.bfloat16)
trained(asking).step()  # <- step asking

made = nn.Linear(4, 4, dtype=torch.float16)  # <- made
trained(made).step()  # <- step made

data = nn.Linear(4, 4)
for parameter in data.parameters():
    parameter.data = parameter.data.half()  # <- data
trained(data).step()  # <- step data

# Loading copies into memory that is there: the dtype is the one that it was made in.
copied = nn.Linear(4, 4, dtype=torch.float16)  # <- copied
copied.load_state_dict({name: value.float() for name, value in made.state_dict().items()})
trained(copied).step()  # <- step copied

torch.save(made.state_dict(), folder + "/state.pt")
assigned = nn.Linear(4, 4)
loaded = torch.load(folder + "/state.pt")  # <- load
assigned.load_state_dict(loaded, assign=True)
trained(assigned).step()  # <- step assigned

save_file(made.state_dict(), folder + "/state.safetensors")
safe = nn.Linear(4, 4)
safe.load_state_dict(load_file(folder + "/state.safetensors"), assign=True)  # <- safetensors
trained(safe).step()  # <- step safe

# Of what lay in memory before this process was traced nothing is known, and nothing is reported.
child = os.fork()
if child == 0:
    half.zero_grad()
    trained(half).step()  # <- step in child
    os._exit(0)
os.waitpid(child, 0)

torch.tensor([1.0, 2.0]) + 1  # <- floats
torch.tensor([np.float64(1), np.float64(2)]) + 1  # <- numpy floats
torch.tensor(data=[[1, 2], [3, 4]]) + 1  # <- integers
torch.tensor([1, 2.0]) + 1  # <- mixed
torch.tensor(np.ones(2)) + 1  # <- copied array
torch.tensor(3.0, dtype=torch.float16) + 1  # <- number
torch.as_tensor(np.ones(2, np.float32)) + 1  # <- as_tensor
torch.asarray(np.ones(2, np.int16)) + 1  # <- asarray
torch.from_numpy(np.ones(2)) + 1  # <- from_numpy
torch.from_numpy(np.ones(2).view(np.recarray)) + 1  # <- recarray
torch.frombuffer(bytearray(16), dtype=torch.float64) + 1  # <- frombuffer


class Saved(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.load(folder + "/state.pt")["bias"]  # <- load row


class Sent(Saved):
    def __getitem__(self, index):
        return torch.ones(4)


# The memory of what a worker sends is given to a tensor here, but the worker made it.
alone = {"batch_size": None}
for batch in torch.utils.data.DataLoader(Saved(), **alone):
    batch + 1  # <- read row
for batch in torch.utils.data.DataLoader(Sent(), num_workers=1, **alone):
    batch + 1  # <- read sent


class float64(list):  # no number, whatever it is called
    pass


torch.tensor(float64([1.0])) + 1  # <- class of the program
with torch.device("cpu"):
    torch.tensor([1.0]) + 1  # <- in a mode

cast = torch.ones(2).half()  # <- cast
torch.as_tensor(cast) + 1  # <- read as_tensor
torch.as_tensor(cast, dtype=torch.float32) + 1  # <- cast by as_tensor

try:
    torch.tensor(["text"])  # <- refused
except ValueError as error:
    print(error)

# Far more tensors than there is room for: what was made once, long ago, is still known.
old = [torch.ones(2, dtype=torch.float16) for _ in range(8)]  # <- old
kept = [torch.ones(1) for _ in range(40000)]
torch._foreach_add(old, 1)  # <- read old
for module in (half, to, made, data, copied, assigned, safe):
    print([parameter.view(torch.uint8).tolist() for parameter in module.parameters()])
with torch.device("meta"):
    print([torch.tensor([1.0]).device, torch.as_tensor([1.0]).device, torch.asarray(obj=[1.0]).device,
           torch.tensor(data=[1.0], dtype=torch.half).device])
print([factory in hashed_before for factory in factories], factories[1] == torch.as_tensor)
print(torch.tensor is torch._C._VariableFunctions.tensor, torch.from_numpy.__name__)
