"""The kernels for a GPU on a card, for gpu.py: beside arithmetic in double, and timed beside LibTorch's own ops.

    gpu_kernels.py accuracy DEVICE LIBRARY…   every row of kernels/accuracy.h that a GPU has; exit status 1 where one is not kept
    gpu_kernels.py times DEVICE LIBRARY…      us of ours, of LibTorch's op of one dtype, and of that in Float between two casts
LIBRARY…: that of the operators, and that of the kernels for a GPU
"""

import ctypes
import math
import re
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

ops = torch.ops.dtypecheck
DTYPES = [torch.float, torch.half, torch.bfloat16]
BOUND = re.compile(r'\{"([^"]+)",\s*(\d+), (\d+), (\d+)\}')


def bounds() -> dict[str, list[int]]:
    text = (Path(__file__).resolve().parents[1] / "kernels/accuracy.h").read_text()
    return {name: [int(n) for n in numbers] for name, *numbers in BOUND.findall(text)}


def ulps(found: torch.Tensor, expected: torch.Tensor) -> float:
    expected = expected.double().cpu()
    largest = expected.abs().max().item()
    unit = torch.finfo(found.dtype).eps * 2 ** math.floor(math.log2(largest))
    # to the dtype once, as the kernels' reference does
    return ((found.double().cpu() - expected.to(found.dtype).double()).abs().max() / unit).item()


def norms(device: str, dtype: torch.dtype):
    """(row of the table, numbers, as they are in double)"""
    torch.manual_seed(0)
    cases = {
        "layer_norm": ((77, 640), lambda o, x, w, b: o.layer_norm(x, (640,), w, b),
                       lambda x, w, b: F.layer_norm(x, (640,), w, b)),
        "rms_norm": ((77, 640), lambda o, x, w, b: o.rms_norm(x, (640,), w, 1e-6), lambda x, w, b: F.rms_norm(x, (640,), w, 1e-6)),
        "group_norm": ((1, 320, 16, 16), lambda o, x, w, b: o.group_norm(x, 32, w, b), lambda x, w, b: F.group_norm(x, 32, w, b)),
        "group_norm silu": ((1, 320, 16, 16), lambda o, x, w, b: o.group_norm(x, 32, w, b, 1e-5, True),
                            lambda x, w, b: F.silu(F.group_norm(x, 32, w, b))),
        "group_norm nhwc": ((1, 320, 16, 16), lambda o, x, w, b: o.group_norm(x, 32, w, b), lambda x, w, b: F.group_norm(x, 32, w, b)),
    }
    for name, (size, ours, theirs) in cases.items():
        x, dy = (torch.randn(size) + 0.5).to(dtype), torch.randn(size).to(dtype)
        w, b = (torch.randn(size[1]) + 1).to(dtype), torch.randn(size[1]).to(dtype)
        if name.endswith("nhwc"):
            x, dy = (t.contiguous(memory_format=torch.channels_last) for t in (x, dy))
        here = [t.clone().to(device).requires_grad_() for t in (x, w, b)]
        wide = [t.double().requires_grad_() for t in (x, w, b)]
        y, exact = ours(ops, *here), theirs(*wide)
        y.backward(dy.to(device))
        exact.backward(dy.double())
        yield f"{name} y", y.detach(), exact.detach()
        yield f"{name} dx", here[0].grad, wide[0].grad
        yield f"{name} dgamma", here[1].grad, wide[1].grad


def exact_ones(device: str, dtype: torch.dtype):
    """What has the bits that the CPU has."""
    torch.manual_seed(1)
    gradients = [torch.randn(n).to(dtype) for n in (1283, 70000, 1)]
    there = [g.to(device) for g in gradients]
    (ys, norm), (expected, norm_cpu) = ops.unscale(there, 0.3), ops.unscale(gradients, 0.3)
    assert abs(norm.item() / norm_cpu.item() - 1) < 1e-12, (norm, norm_cpu)
    yield "unscale y", torch.cat(ys), torch.cat(expected)
    state = [[torch.randn(g.shape).to(dtype) for g in gradients], *([torch.zeros(g.shape) for g in gradients] for _ in range(2))]
    moved = [[t.to(device) for t in group] for group in state]
    ops.adamw_(state[0], gradients, state[1], state[2], [], 1)
    ops.adamw_(moved[0], there, moved[1], moved[2], [], 1)
    yield "adamw weight", torch.cat(moved[0]), torch.cat(state[0])
    yield "cat y", ops.cat([there[0], there[1].float()], 0, dtype), torch.cat([gradients[0], gradients[1]])


def accuracy(device: str) -> int:
    promised, wrong = bounds(), 0
    for dtype, column in zip(DTYPES, range(3)):
        for name, found, expected in [*norms(device, dtype), *exact_ones(device, dtype)]:
            if name not in promised:
                continue
            apart, allowed = ulps(found, expected), promised[name][column]
            wrong += not apart <= allowed
            print(f"{name:24} {str(dtype)[6:]:9} {apart:8.2f} ulp of {allowed}{'' if apart <= allowed else '  WRONG'}")
    return wrong != 0


def microseconds(call, device: str) -> float:
    """Of a call among twenty in a CUDA graph, so that launching is not in it; the least of ten replays."""
    if device == "cpu":
        begin = time.perf_counter()
        call()
        return (time.perf_counter() - begin) * 1e6
    for _ in range(3):
        call()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(20):
            call()
    taken = []
    for _ in range(10):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end) * 1000 / 20)
    return min(taken)


def times(device: str) -> int:
    sizes = [(4096, 640), (16384, 640), (4096, 1280), (2048, 4096), (1, 320, 128, 128), (4, 320, 128, 128), (4, 1280, 32, 32)]
    for size in sizes if device != "cpu" else [(64, 640), (1, 320, 8, 8)]:
        for dtype in DTYPES[1:]:
            x = torch.randn(size, device=device).to(dtype).requires_grad_()
            w, b = (torch.randn(size[1], device=device, requires_grad=True) for _ in range(2))
            dy = torch.randn_like(x)
            norm = "layer_norm" if len(size) == 2 else "group_norm"

            def ours(x, w, b):
                return ops.layer_norm(x, (size[1],), w, b) if len(size) == 2 else ops.group_norm(x, 32, w, b, 1e-5, True)

            def theirs(x, w, b):
                return F.layer_norm(x, (size[1],), w, b) if len(size) == 2 else F.silu(F.group_norm(x, 32, w, b))

            low = [t.detach().to(dtype).requires_grad_() for t in (w, b)]
            ways = {"ours": lambda: ours(x, w, b), "same dtype": lambda: theirs(x, *low),
                    "with casts": lambda: theirs(x.float(), w, b).to(dtype)}
            forward = {name: microseconds(lambda: call().detach(), device) for name, call in ways.items()}
            both = {name: microseconds(lambda: torch.autograd.grad(call(), (x, *(low if name == "same dtype" else (w, b))), dy), device)
                    for name, call in ways.items()}
            print(f"{norm} {str(dtype)[6:]} {'x'.join(map(str, size))}: "
                  + "; ".join(f"{name} {forward[name]:.1f} us, with backward {both[name]:.1f}" for name in ways), flush=True)
    return 0


if __name__ == "__main__":
    what, where, operators, *libraries = sys.argv[1:]
    lib = Path(torch.__file__).resolve().parent / "lib"
    for known in ("libc10.so", "libtorch_cpu.so"):
        ctypes.CDLL(str(lib / known), mode=ctypes.RTLD_GLOBAL)
    torch.ops.load_library(operators)
    for library in libraries:
        ctypes.CDLL(library)
    sys.exit({"accuracy": accuracy, "times": times}[what](where))
