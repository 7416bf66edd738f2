# A model is made in Float, and a loader of the program's own puts a Half state into it: nobody asked for Half weights, so the model
# is Float before the optimizer is made.
# EXPECT-CURE model.to(dtype=torch.float32)
# EXPECT-NOT eps=
import io

import torch
from torch import nn

torch.manual_seed(0)


def load_into(model, file):
    for name, value in torch.load(file).items():
        owner, _, last = name.rpartition(".")
        setattr(model.get_submodule(owner), last, nn.Parameter(value))


file = io.BytesIO()
torch.save({name: value.half() for name, value in nn.Sequential(nn.Linear(8, 4)).state_dict().items()}, file)
file.seek(0)
model = nn.Sequential(nn.Linear(8, 4))
load_into(model, file)
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(16, 8), torch.randint(0, 4, (16,))
for _ in range(8):
    loss = nn.functional.cross_entropy(model(x.to(model[0].weight.dtype)).float(), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
