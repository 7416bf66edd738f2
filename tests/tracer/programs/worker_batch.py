"""A Float model is called with what a DataLoader's worker made in Double, and with an array that
the program made itself."""

import numpy as np
import torch


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        pixels = torch.full((3, 4), float(index), dtype=torch.float64)  # <- made
        return pixels, index


torch.set_num_threads(1)
model = torch.nn.Linear(4, 2)
for pixels, index in torch.utils.data.DataLoader(Samples(), batch_size=2, num_workers=1):
    try:
        model(pixels)  # <- batch
    except RuntimeError as error:
        print("refused", error)

class Shapes(Samples):
    def __getitem__(self, index):
        return index


def empty(indices):
    return torch.zeros(0, 5, dtype=torch.float64)  # <- made empty


for nothing in torch.utils.data.DataLoader(Shapes(), batch_size=4, num_workers=1, collate_fn=empty):
    try:
        torch.mm(nothing, torch.ones(5, 2))  # <- empty batch
    except RuntimeError as error:
        print("refused", error)
array = torch.from_numpy(np.ones((5, 4)))
try:
    torch.mm(array, torch.ones(4, 2))  # <- own array
except RuntimeError as error:
    print("refused", error)
