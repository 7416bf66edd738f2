"""Calls an op at each of 2,000 lines, which makes a trace of more than half a megabyte; prints what came out.

With "gone", the run folder is removed after the first op.
"""

import os
import shutil
import sys

import torch

LINES = 2000


def main():
    names = {"x": torch.zeros(3, dtype=torch.float64)}
    exec(compile("x = x + 1\n", "first.py", "exec"), names)
    if "gone" in sys.argv:
        shutil.rmtree(os.environ["DTYPECHECK_RUN"])
    exec(compile("x = x * 1.0001 + 1\n" * LINES, "lines.py", "exec"), names)
    print(names["x"].tolist(), flush=True)
    sys.exit(7)


if __name__ == "__main__":
    main()
