"""Casts of arrays that lose numbers, beside those that lose none."""

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


def main():
    torch.zeros(1)
    for made in (one_is_lost(), none_is_lost()):
        print(*(int(np.asarray(one).astype("i8").sum()) for one in made))


if __name__ == "__main__":
    main()
