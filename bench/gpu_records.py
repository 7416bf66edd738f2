#!/usr/bin/env python3
"""What recording a GPU's kernels costs on the CPU, over the pretended GPU: none is needed.

    gpu_records.py [--launches N] [--build BUILD]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import ctypes, os, resource, time, torch
cuda = ctypes.CDLL("libcuda.so.1")
launches = int(os.environ["LAUNCHES"])
names = [b"ampere_h16816gemm_128x128_ldg8_stages_32x5_nn_%d" % i for i in range(64)]
kernels = [ctypes.cast(ctypes.create_string_buffer(name), ctypes.c_void_p) for name in names]
for kernel, name in zip(kernels, names):
    cuda.__cudaRegisterFunction(None, kernel, None, name)

def launch(count):
    one, begin = cuda.cuLaunchKernel, time.perf_counter_ns()
    for i in range(count):
        one(kernels[i % 64])
    return time.perf_counter_ns() - begin

@torch.library.custom_op("bench::launch", mutates_args=())
def op(x: torch.Tensor, count: int) -> torch.Tensor:
    global took
    took = launch(count)
    return x.clone()

x = torch.ones(4)
op(x, 1000)
not_recorded = launch(launches)
torch.ones(1, device="cuda") + 1
before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
op(x, launches)
print(f"{launches:,} launches: {(took - not_recorded) / launches:.0f} ns each, its record's reading included, "
      f"peak memory +{(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) / 1024:.1f} MiB")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parent.parent / "build")
    args = parser.parse_args()
    pretended = args.build / "libexec" / "dtypecheck" / "pretended" / "libcuda.so.1"
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        subprocess.run([args.build / "bin" / "dtypecheck", "trace", "--no-report", "--out", run, "--", sys.executable, "-c", PROGRAM],
                       check=True, env=os.environ | {"LD_PRELOAD": str(pretended), "LAUNCHES": str(args.launches)},
                       stderr=subprocess.DEVNULL)
        print(f"trace {sum(file.stat().st_size for file in run.glob('*.dtrace')) / 1000:.1f} kB")


if __name__ == "__main__":
    main()
