"""Ends a process group of gloo without PyTorch's own races at the end of a program."""

import pathlib
import time

import torch.distributed as dist


def others_sleep():
    states = []
    for thread in pathlib.Path("/proc/self/task").glob("[0-9]*"):
        try:
            states.append((thread / "stat").read_text().rpartition(") ")[2][0])
        except OSError:
            continue  # it has ended
    return states.count("S") >= len(states) - 1  # all but this one, which runs


def leave():
    """Destroys all process groups once the threads of gloo are idle.

    Such a thread drops the tensors of an op after the op has been waited for, and takes the GIL for
    it. PyTorch deadlocks where a Reducer that dies joins the thread with the GIL held, and aborts
    where the interpreter ends meanwhile (pytorch/pytorch issue 190489). Sleeping lets go of the GIL:
    a thread that still sleeps after it waits for work.
    """
    seen = 0
    for _ in range(1000):
        time.sleep(0.02)
        seen = seen + 1 if others_sleep() else 0
        if seen == 3:
            break
    dist.destroy_process_group()
