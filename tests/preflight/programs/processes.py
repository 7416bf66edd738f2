"""Processes that are forked, spawned, started and put in this one's place; each sees the pretended GPU."""
import os
import subprocess
import sys

import torch
import torch.multiprocessing

PROGRAM = "import torch; print('{}', torch.ones(2, device='cuda').sum().item())"


def child(rank):
    print("spawned", torch.ones(2, device="cuda").sum().item(), flush=True)


if __name__ == "__main__":
    pid = os.fork()
    if pid == 0:
        print("forked", torch.ones(2, device="cuda").sum().item(), flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
    torch.multiprocessing.spawn(child, nprocs=1)
    subprocess.run([sys.executable, "-c", PROGRAM.format("run")], check=True)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-c", PROGRAM.format("executed")])
