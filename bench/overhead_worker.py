"""Times one workload in this process, plain and watched in turns; started by overhead.py, which
says how.

    traced   run under dtypecheck trace, which leaves LibTorch for the plain steps
    steady   the same; the watched steps are those in which --steady looks away, and now and then one is traced
    peers    run without dtypecheck: PyTorch's own observers

Written to OUT as JSON: for each observer its rounds, each with the thread CPU time in ns of every
step, and of starting and stopping. One thread, so that this is all the time there is (the autograd
engine runs CPU nodes in the calling thread).
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
    """Both the collector's pauses and an observer's memory would hit whoever comes next: collect
    first, then hold it off.
    """
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


def timed(step: Step) -> int:
    begin = thread_time_ns()
    step()
    return thread_time_ns() - begin


def in_pairs(step: Step, enter: dict, rounds: int, steps: int) -> dict[str, list[dict]]:
    """For what is started and stopped at no cost: the states change with each step, and which comes
    first with each pair.
    """
    results = {name: [] for name in enter}
    for _ in range(rounds):
        times = {name: [] for name in enter}
        gc.collect()
        gc.disable()
        for pair in range(steps):
            for name in list(enter)[:: 1 if pair % 2 else -1]:
                enter[name]()
                times[name].append(timed(step))
        gc.enable()
        for name in enter:
            results[name].append({"start": 0, "steps": times[name], "stop": 0})
    return results


def run_traced(step: Step, args: argparse.Namespace) -> dict:
    tracer = Tracer()
    tracer.look()
    first = timed_round(step, contextlib.nullcontext(),
                        args.warmup)  # writes down nearly all there is to write
    return {"first": first} | in_pairs(step, {PLAIN: tracer.leave, "dtypecheck": tracer.look},
                                       args.rounds, args.steps)


def run_steady(step: Step, args: argparse.Namespace) -> dict:
    tracer = Tracer()
    tracer.look()
    timed_round(step, contextlib.nullcontext(), args.warmup)
    results = {PLAIN: [], "looking away": [], "looking": []}
    for _ in range(args.rounds):
        for name, rounds in in_pairs(step, {PLAIN: tracer.leave, "looking away": tracer.look_away},
                                     1, args.steps).items():
            results[name] += rounds
        before = [timed(step) for _ in range(3)]
        tracer.look()
        looking = timed(step)
        tracer.look_away()
        after = timed(step)
        results["looking"].append({"step": looking, "after": after,
                                   "beside": before + [timed(step) for _ in range(3)]})
    return results


def run_peers(step: Step, args: argparse.Namespace) -> dict:
    timed_round(step, contextlib.nullcontext(), args.warmup)
    chosen = {name: PEERS[name] for name in PEERS if args.peer in ("all", name)}
    watched = interleaved(step, {PLAIN: contextlib.nullcontext, **chosen}, args.peer_rounds,
                          args.peer_steps)
    return {"events": events_of(step)} | watched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("traced", "steady", "peers"))
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("out", type=Path)
    parser.add_argument("--warmup", type=int, default=10,
                        help="steps before any that counts (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=10,
                        help="of each round (default: %(default)s)")
    parser.add_argument("--peer", default="all", help="all, or the name of one")
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
