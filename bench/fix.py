#!/usr/bin/env python3
"""What a training in Half that `dtypecheck trace --fix` serves costs beside the same in BFloat16 under autocast, without us.

    .venv/bin/python bench/fix.py                   the tiny SDXL UNet and one of 330 M parameters, some minutes
    .venv/bin/python bench/fix.py --models tiny --pairs 20

Float weights are trained on Half data where no autocast is open, which LibTorch refuses on a CPU: diffusers' scripts with
--mixed_precision fp16. Steps come in pairs, in one process: one served, one in BFloat16 with the hook gone. Time is the
process's CPU time on one thread; the limit is 1.3. A step is forward, backward and clipping, without the optimizer, which
costs both the same. --profile prints the ops that the served step spends its time in.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 1.3
MODELS = ["tiny", "mid"]


def make_model(name):
    """The UNet, the side of its latents, and the widths of its text and pooled text."""
    import workloads
    if name == "mid":
        return workloads.mid_unet(), 32, 1024, workloads.MID_POOLED_WIDTH
    sys.path.insert(0, str(workloads.EXAMPLE))
    import make_tiny_sdxl
    width = make_tiny_sdxl.TEXT_WIDTH
    return make_tiny_sdxl.make_unet(), 8, 2 * width, width


def make_step(unet, pixels, text_width, pooled_width):
    import torch

    latents, noise = torch.randn(1, 4, pixels, pixels), torch.randn(1, 4, pixels, pixels)
    text, pooled = torch.randn(1, 77, text_width), torch.randn(1, pooled_width)
    ids = torch.tensor([[512.0, 512, 0, 0, 512, 512]])
    parameters = list(unet.parameters())

    def step(dtype):
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
            low = dtype if dtype == torch.float16 else torch.float32
            prediction = unet((latents + noise).to(low), torch.tensor([500]), text.to(low),
                              added_cond_kwargs={"text_embeds": pooled.to(low), "time_ids": ids}, return_dict=False)[0]
        torch.nn.functional.mse_loss(prediction.float(), noise).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        unet.zero_grad()

    return step


def measure(name, pairs, profile):
    import torch
    from observers import Tracer

    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = make_step(*make_model(name))
    tracer = Tracer()
    pause_fix = tracer.hook.dtypecheck_hook_pause_keep_going

    def timed(dtype):
        served = dtype == torch.float16
        tracer.look() if served else tracer.leave()
        pause_fix(not served)
        begin = time.process_time()
        step(dtype)
        return time.process_time() - begin

    for dtype in (torch.float16, torch.bfloat16) * 2:
        timed(dtype)
    took = [(timed(torch.float16), timed(torch.bfloat16)) for _ in range(pairs)]
    ratios = sorted(a / b for a, b in took)
    ratio = statistics.median(ratios)
    served, bf16 = (min(times) for times in zip(*took))
    print(f"{name}: served {served * 1e3:.1f} ms, bf16 {bf16 * 1e3:.1f} ms at least; median of {pairs} pairs {ratio:.2f} x "
          f"({ratios[0]:.2f} to {ratios[-1]:.2f}), limit {LIMIT}: {'kept' if ratio <= LIMIT else 'MISSED'}", flush=True)
    if profile:
        for dtype in (torch.float16, torch.bfloat16):
            with torch.profiler.profile() as seen:
                timed(dtype)
            print(seen.key_averages().table(sort_by="self_cpu_time_total", row_limit=24, max_name_column_width=48))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypecheck", default=str(HERE.parent / "build" / "bin" / "dtypecheck"), metavar="EXE")
    parser.add_argument("--models", nargs="*", default=MODELS, help=f"default: {' '.join(MODELS)}")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--worker", metavar="MODEL", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        measure(arguments.worker, arguments.pairs, arguments.profile)
        return
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for model in arguments.models:
        with tempfile.TemporaryDirectory() as folder:
            command = [arguments.dtypecheck, "trace", "--fix", "--no-report", "--out", f"{folder}/run", "--", sys.executable,
                       __file__, "--worker", model, "--pairs", str(arguments.pairs)]
            subprocess.run(command + ["--profile"] * arguments.profile, check=True,
                           env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})


if __name__ == "__main__":
    main()
