"""Bytes and whole numbers that NumPy wraps around, beside the same as a maintainer would write it."""

import threading

import numpy as np
import torch


def off(a, b):
    return np.mean((a - b) ** 2)  # <- off


def apart(a, b):
    return np.mean((a.astype(np.float64) - b) ** 2)


def brighter(image):
    image += np.uint8(60)  # <- brighter
    return image.sum()


def areas(sides):
    return (sides * sides).sum()  # <- areas


def steps(line):
    return np.diff(line).mean()  # <- steps


def columns(a, b):
    return (a[:, :, 0] + b[:, :, 1]).sum()  # <- columns


def slots(keys):
    return ((keys * np.uint8(31)) & 0x3f).sum()


def mixed(words):
    """A hash of 32 bits."""
    return (words * np.uint32(2654435761) + np.uint32(12345)).sum()


def delta(a, b):
    rows = a - b
    return (b + rows == a).all()


def main():
    torch.zeros(1)
    drawn = np.random.default_rng(0)
    a = drawn.integers(0, 256, (16, 16, 3), dtype=np.uint8)
    b = np.clip(a.astype(np.int64) + drawn.integers(-9, 9, a.shape), 0, 255).astype(np.uint8)
    torch.ones(1)
    print("off", off(a, b), apart(a, b))
    print("brighter", brighter(a.copy()))
    print("areas", areas(np.arange(100000, 100100, dtype=np.int32)))
    print("steps", steps(a[0, :, 0]))
    print("columns", columns(a, b))
    print("slots", slots(a[0, 0]))
    print("mixed", mixed(np.arange(64, dtype=np.uint32)), np.add.__name__, hash(np.add) == hash(np.add))
    print("delta", delta(a, b))
    print("others", a - 0, np.add(a[:2], 1, where=a[:2] < 255, out=a[:2].copy()).sum(), np.add.reduce(b, axis=None, dtype=np.uint8))
    objects = np.array([np.arange(3, dtype=np.uint8)], dtype=object)
    print("objects", objects - 1)
    try:
        np.subtract(a, [[1, 2], [3]])
    except ValueError as error:
        print("refused", error)
    threads = [threading.Thread(target=lambda: [off(a, b) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
