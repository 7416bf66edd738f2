"""Casts of arrays that lose numbers, by NumPy and by torch.tensor(), beside those that lose none."""

import numpy as np
import torch


def filled(dtype, value, at=12345, count=22050):
    array = np.zeros(count, dtype)
    array[at] = value
    return array


def one_is_lost():
    return [filled("f4", 32768).astype("i2"),  # <- peak
            filled("f8", -2.5).astype("u1"),  # <- below
            filled("i8", 2 ** 31).astype("i4"),  # <- id
            filled("u4", 256, at=22049).astype("u1")]  # <- last


def none_is_lost():
    return [filled("f4", 255.9).astype("u1"), filled("f8", -1).astype("u1"), filled("i8", -2 ** 31).astype("i4"),
            filled("f4", np.nan).astype("i2"), filled("f4", np.inf).astype("i2"), filled("f4", -2.0 ** 31).astype("i4"),
            filled("f4", 300)[::2].astype("u1").astype("f4")]


def tensors_lose(observations):
    tensors = [torch.tensor(observations, dtype=torch.uint8),  # <- observations
               torch.as_tensor(np.arange(0, 64000, 1000), dtype=torch.int16),  # <- wrapped
               torch.asarray(np.linspace(0, 400, 64), dtype=torch.uint8)]  # <- bytes
    for row in observations:
        tensors.append(torch.tensor(row, dtype=torch.uint8))  # <- row
    return tensors


def tensors_lose_nothing(drawn):
    whole = np.arange(64)
    tensors = [torch.tensor(whole, dtype=torch.uint8), torch.tensor(whole.astype(np.float32), dtype=torch.int16),
               torch.as_tensor(whole + 0.25, dtype=torch.int64), torch.tensor([1, 2, 3] * 10, dtype=torch.uint8),
               torch.tensor(drawn > 0.5, dtype=torch.uint8), torch.tensor(drawn, dtype=torch.float32)]
    for i in range(64):
        tensors.append(torch.tensor(np.array([i + 0.5, 100.25, 70]), dtype=torch.uint8))
    return tensors


def main():
    torch.zeros(1)
    drawn = np.random.default_rng(0).random((32, 3))
    for made in (one_is_lost(), none_is_lost(), tensors_lose(np.cos(np.arange(96)).reshape(32, 3)), tensors_lose_nothing(drawn)):
        print(*(int(np.asarray(one).astype("i8").sum()) for one in made))


if __name__ == "__main__":
    main()
