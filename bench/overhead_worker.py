"""Times one workload in this process, plain and watched in turns; started by overhead.py, which says how.

    traced   run under dtypecheck trace: the tracer looks away for the plain rounds
    steady   the same under dtypecheck trace --steady, which itself decides when to look
    peers    run without dtypecheck: PyTorch's own observers

Written to OUT as JSON: for each observer its rounds, each with the thread CPU time in ns of every step, and of starting and
stopping. One thread, so that this is all the time there is (the autograd engine runs CPU nodes in the calling thread).
"""

import argparse
import contextlib
import gc
import json
import platform
import sys
from pathlib import Path
from time import thread_time_ns

import torch
from observers import PEERS, Tracer, events_of
from workloads import WORKLOADS, Step

PLAIN = "plain"


def timed_round(step: Step, observer, steps: int) -> dict:
    """Both the collector's pauses and an observer's memory would hit whoever comes next: collect first, then hold it off."""
    gc.collect()
    gc.disable()
    marks = [thread_time_ns()]
    with observer:
        marks.append(thread_time_ns())
        for _ in range(steps):
            step()
            marks.append(thread_time_ns())
    end = thread_time_ns()
    gc.enable()
    return {
        "start": marks[1] - marks[0],
        "steps": [after - before for before, after in zip(marks[1:], marks[2:])],
        "stop": end - marks[-1],
    }


def interleaved(step: Step, observers: dict, rounds: int, steps: int) -> dict[str, list[dict]]:
    """Turns go forth and back, so that a machine that gets slower or faster treats all alike."""
    results = {name: [] for name in observers}
    for turn in range(rounds):
        names = list(observers) if turn % 2 == 0 else list(observers)[::-1]
        for name in names:
            results[name].append(timed_round(step, observers[name](), steps))
    return results


class KeptAway:
    """--steady looks again by itself after so many steps; in a plain round it is told off before each step."""

    def __init__(self, step: Step, tracer: Tracer):
        self.plain, self.tracer = step, tracer

    def __call__(self) -> None:
        self.tracer.pause(1)
        self.plain()


def run_traced(step: Step, args: argparse.Namespace) -> dict:
    tracer = Tracer()
    with tracer:
        first = timed_round(step, contextlib.nullcontext(), args.warmup)  # writes down nearly all there is to write
    observers = {PLAIN: contextlib.nullcontext, "dtypecheck": lambda: tracer}
    return {"first": first} | interleaved(step, observers, args.rounds, args.steps)


def run_steady(step: Step, args: argparse.Namespace) -> dict:
    tracer = Tracer()
    tracer.pause(0)
    kept_away = KeptAway(step, tracer)
    results = {PLAIN: [], "dtypecheck --steady": []}
    timed_round(step, contextlib.nullcontext(), args.warmup)
    for _ in range(args.rounds):
        results["dtypecheck --steady"].append(timed_round(step, contextlib.nullcontext(), args.steps))
        results[PLAIN].append(timed_round(kept_away, contextlib.nullcontext(), args.steps))
    return results


def run_peers(step: Step, args: argparse.Namespace) -> dict:
    """`alone` comes before any peer was started: some leave things behind."""
    alone = [timed_round(step, contextlib.nullcontext(), args.warmup)]
    alone = [timed_round(step, contextlib.nullcontext(), args.steps) for _ in range(args.rounds)]
    chosen = {name: PEERS[name] for name in PEERS if args.peer in ("all", name)} if args.peer != "none" else {}
    if not chosen:
        return {"alone": alone}
    watched = interleaved(step, {PLAIN: contextlib.nullcontext, **chosen}, args.peer_rounds, args.peer_steps)
    return {"alone": alone, "events": events_of(step)} | watched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("traced", "steady", "peers"))
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("out", type=Path)
    parser.add_argument("--warmup", type=int, default=10, help="steps before any that counts (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=10, help="of each round (default: %(default)s)")
    parser.add_argument("--peer", default="all", help="all, none, or the name of one")
    parser.add_argument("--peer-rounds", type=int, default=5)
    parser.add_argument("--peer-steps", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = WORKLOADS[args.workload]()
    run = {"traced": run_traced, "steady": run_steady, "peers": run_peers}[args.mode]
    results = run(step, args)
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    args.out.write_text(json.dumps({"versions": versions, "results": results}))


if __name__ == "__main__":
    sys.exit(main())
