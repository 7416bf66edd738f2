#!/usr/bin/env python3
"""What recording a GPU's kernels costs on the CPU, over the libcupti of the tests: no GPU is needed.

    gpu_records.py [--launches N] [--dtypecheck EXE] [--fake LIBCUPTI]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(__file__).resolve().parent.parent / "build"

PROGRAM = """
import ctypes, os, resource, time, torch
cupti = ctypes.CDLL(None)
cupti.fake_reading_ns.restype = ctypes.c_uint64
launches = int(os.environ["LAUNCHES"])
names = [b"ampere_h16816gemm_128x128_ldg8_stages_32x5_nn_%d" % i for i in range(64)]
NAMES = (ctypes.c_char_p * len(names))(*names)

def launch(count):
    begin = time.perf_counter_ns()
    cupti.fake_launches(NAMES, len(names), ctypes.c_uint64(count))
    return time.perf_counter_ns() - begin

@torch.library.custom_op("bench::launch", mutates_args=())
def op(x: torch.Tensor, count: int) -> torch.Tensor:
    global took
    took = launch(count)
    return x.clone()

x = torch.ones(4)
op(x, 0)
not_recorded = launch(launches)
hook = ctypes.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if "dtypecheck_hook" in line))
hook.dtypecheck_hook_see_gpu()
before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
op(x, launches)
reading = cupti.fake_reading_ns()
print(f"{launches:,} launches: {(took - reading - not_recorded) / launches:.0f} ns each in the thread that launches, "
      f"{reading / launches:.0f} ns a record to read, peak memory +{(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) / 1024:.1f} MiB")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--dtypecheck", default=str(BUILD / "bin" / "dtypecheck"))
    parser.add_argument("--fake", default=str(BUILD / "tests" / "tracer_gpu" / "libcupti.so.13"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        subprocess.run([args.dtypecheck, "trace", "--no-report", "--out", str(run), "--", sys.executable, "-c", PROGRAM],
                       check=True, env=os.environ | {"LD_PRELOAD": args.fake, "LAUNCHES": str(args.launches)},
                       stderr=subprocess.DEVNULL)
        print(f"trace {sum(file.stat().st_size for file in run.glob('*.dtrace')) / 1000:.1f} kB")


if __name__ == "__main__":
    main()
