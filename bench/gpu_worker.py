"""Steps on a GPU, for gpu.py: times them, or lists the kernels that torch.profiler saw by op.

    gpu_worker.py times SIZE DTYPE DEVICE BATCH STEPS [profiler]    {"step_ms": …} as JSON
    gpu_worker.py arms SIZE DTYPE DEVICE BATCH ROUNDS               one step of each in turn, in a traced process: {"left": ms, "ops":
                                                                    ms, "values": ms} as JSON, medians, and their ratios in a round
    gpu_worker.py kernels SIZE DTYPE DEVICE BATCH STEPS [profiler]  {"op": {"kernel": count}} as JSON, of the last of them
"""

import collections
import contextlib
import json
import random
import statistics
import sys
import time

import observers
import torch
from torch.profiler import ProfilerActivity, profile
from workloads import full_sdxl, tiny_sdxl


def make_step(size: str, dtype: str, device: str, batch: int):
    torch.manual_seed(0)
    make = full_sdxl if size == "full" else tiny_sdxl
    return make(getattr(torch, dtype), device=device, batch=batch)


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def activities(device: str) -> list[ProfilerActivity]:
    return [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (device == "cuda")


def times(step, device: str, steps: int, profiled: bool) -> dict:
    begin = time.perf_counter()
    for _ in range(5):
        step()
    wait(device)
    first = (time.perf_counter() - begin) * 1000
    watched = profile(activities=activities(device)) if profiled else contextlib.nullcontext()
    taken = []
    with watched:
        for _ in range(steps):
            begin = time.perf_counter()
            step()
            wait(device)
            taken.append((time.perf_counter() - begin) * 1000)
    reserved = torch.cuda.max_memory_reserved() / 2**30 if device == "cuda" else 0
    return {"step_ms": statistics.median(taken), "least_ms": min(taken), "first_five_ms": first, "reserved_gib": reserved}


def arms(step, device: str, rounds: int, _: bool) -> dict:
    """The tracer left, ops without samples of values, and with them."""
    tracer = observers.Tracer()
    manners = {"left": (tracer.leave, 0), "ops": (tracer.look, 0), "values": (tracer.look, 1)}
    taken = {name: [] for name in manners}
    for turn in range(rounds + 5):
        for name in random.sample(sorted(manners), len(manners)):
            enter, samples = manners[name]
            enter()
            tracer.hook.dtypecheck_hook_sample(samples)
            wait(device)
            begin = time.perf_counter()
            step()
            wait(device)
            if turn >= 5:
                taken[name].append((time.perf_counter() - begin) * 1000)
    figures = {name: statistics.median(times) for name, times in taken.items()}
    for name, base in [("ops", "left"), ("values", "ops")]:
        ratios = sorted(a / b for a, b in zip(taken[name], taken[base]))
        figures[f"{name} to {base}"] = statistics.median(ratios)
        figures[f"{name} to {base}, means"] = statistics.mean(taken[name]) / statistics.mean(taken[base])
    return figures


def kernels(step, device: str, steps: int, profiled: bool) -> dict:
    for _ in range(steps - 1):
        step()
    wait(device)
    if not profiled:
        step()
        wait(device)
        return {}
    with profile(activities=activities(device)) as watched:
        step()
        wait(device)
    by_op = collections.defaultdict(collections.Counter)
    for event in watched.events():
        for kernel in event.kernels:
            by_op[event.name][kernel.name] += 1
    return by_op


if __name__ == "__main__":
    what, size, dtype, device, batch, steps, *profiler = sys.argv[1:]
    do = {"times": times, "arms": arms, "kernels": kernels}[what]
    print(json.dumps(do(make_step(size, dtype, device, int(batch)), device, int(steps), bool(profiler))))
