#!/usr/bin/env python3
"""What --keep-going costs on top of tracing when nothing is wrong, measured in one process.

    .venv/bin/python bench/keep_going.py                    about two minutes
    .venv/bin/python bench/keep_going.py --workloads tiny-sdxl-bf16 --rounds 30

Rounds take turns: plain, traced, traced and kept going. Time is thread CPU time on one thread, the
minimum over all steps; an event is what torch.profiler counts as one. The budget is 0.3 us an
event.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUDGET_NS = 300
WORKLOADS = ["transformer", "tiny-sdxl", "tiny-sdxl-bf16"]


class KeepGoing:
    """Entered, calls go through the fallback."""

    def __init__(self, hook):
        self.pause = hook.dtypecheck_hook_pause_keep_going
        self.pause(1)

    def __enter__(self):
        self.pause(0)

    def __exit__(self, *_):
        self.pause(1)


@contextlib.contextmanager
def both(tracer, keep_going):
    with tracer, keep_going:
        yield


def measure(name: str, rounds: int, steps: int) -> None:
    import torch
    from observers import Tracer, events_of
    from overhead_worker import interleaved, timed_round
    from workloads import WORKLOADS as STEPS

    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = STEPS[name]()
    tracer = Tracer()
    keep_going = KeepGoing(tracer.hook)
    for _ in range(2):  # nearly all that there is to write down is written
        with both(tracer, keep_going):
            timed_round(step, contextlib.nullcontext(), steps)
    observers = {"plain": contextlib.nullcontext, "traced": lambda: tracer,
                 "traced, keep-going": lambda: both(tracer, keep_going)}
    results = interleaved(step, observers, rounds, steps)
    fastest = {observer: min(t for one in done for t in one["steps"])
               for observer, done in results.items()}
    events = events_of(step)  # last: the tracer shows torch.profiler all ops from then on
    added = {observer: (ns - fastest["plain"]) / events for observer, ns in fastest.items()}
    more = added["traced, keep-going"] - added["traced"]
    print(f"{name}: {events:,} events a step, plain {fastest['plain'] / 1e6:.3f} ms; traced +{added['traced']:.0f} ns an event, "
          f"keep-going +{more:.0f} ns more, budget {BUDGET_NS}: {'kept' if more <= BUDGET_NS else 'MISSED'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypecheck", default=str(HERE.parent / "build" / "bin" / "dtypecheck"),
                        metavar="EXE")
    parser.add_argument("--workloads", nargs="*", default=WORKLOADS,
                        help=f"default: {' '.join(WORKLOADS)}")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=10,
                        help="of each round (default: %(default)s)")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        return measure(args.here, args.rounds, args.steps)
    print(f"load {' '.join(f'{n:.1f}' for n in os.getloadavg())}")
    for name in args.workloads:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([args.dtypecheck, "trace", "--keep-going", "--no-report", "--out",
                            f"{folder}/run", "--", sys.executable, __file__,
                            "--here", name, "--rounds", str(args.rounds), "--steps",
                            str(args.steps)], check=True, cwd=HERE)


if __name__ == "__main__":
    main()
