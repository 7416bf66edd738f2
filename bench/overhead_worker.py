"""Times one workload in this process, plain and watched in turns; started by overhead.py, which
says how.

    traced        run under dtypecheck trace, which leaves LibTorch for the plain steps
    steady        the same; the watched steps are those in which --steady looks away, and now and then one is traced
    launches      the same; plain, traced and looked away from in turns
    instructions  run under dtypecheck trace and callgrind, which counts the instructions of one step in --state
    peers         run without dtypecheck: PyTorch's own observers

Written to OUT as JSON: for each observer its rounds, each with the thread CPU time in ns of every
step, and of starting and stopping. One thread, so that this is all the time there is (the autograd
engine runs CPU nodes in the calling thread); launches to a GPU come from the engine's thread, too,
so theirs is the time of the process.
"""

import argparse
import contextlib
import gc
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from time import process_time_ns, thread_time_ns

import torch
from processes import launches
from observers import PEERS, Tracer, events_of
from workloads import WORKLOADS, Step

PLAIN = "plain"
time_ns = thread_time_ns


def timed_round(step: Step, observer, steps: int) -> dict:
    """Both the collector's pauses and an observer's memory would hit whoever comes next: collect
    first, then hold it off.
    """
    gc.collect()
    gc.disable()
    marks = [time_ns()]
    with observer:
        marks.append(time_ns())
        for _ in range(steps):
            step()
            marks.append(time_ns())
    end = time_ns()
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
    begin = time_ns()
    step()
    return time_ns() - begin


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


def states_of(tracer: Tracer) -> dict:
    return {PLAIN: tracer.leave, "dtypecheck": tracer.look, "looking away": tracer.look_away}


def run_launches(step: Step, args: argparse.Namespace) -> dict:
    tracer = Tracer()
    tracer.look()
    timed_round(step, contextlib.nullcontext(), args.warmup)
    return in_pairs(step, states_of(tracer), args.rounds, args.steps)


def run_instructions(step: Step, args: argparse.Namespace) -> dict:
    """Under callgrind, which counts what runs between its two orders; it prints the count at the end."""
    def order(*words: str) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        subprocess.run(["callgrind_control", *words, str(os.getpid())], env=environment, check=True,
                       stdout=subprocess.DEVNULL)

    tracer = Tracer()
    tracer.look()
    for _ in range(args.warmup):
        step()
    states_of(tracer)[args.state]()
    gc.collect()
    gc.disable()
    step()
    order("-i", "on")
    step()
    order("-i", "off")
    return {}


def run_peers(step: Step, args: argparse.Namespace) -> dict:
    timed_round(step, contextlib.nullcontext(), args.warmup)
    chosen = {name: PEERS[name] for name in PEERS if args.peer in ("all", name)}
    watched = interleaved(step, {PLAIN: contextlib.nullcontext, **chosen}, args.peer_rounds,
                          args.peer_steps)
    return {"events": events_of(step)} | watched


RUNS = {"traced": run_traced, "steady": run_steady, "launches": run_launches,
        "instructions": run_instructions, "peers": run_peers}


def main() -> None:
    global time_ns
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=RUNS)
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
    parser.add_argument("--state", default=PLAIN, help="of the tracer: plain, dtypecheck, looking away")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = WORKLOADS[args.workload]()
    if launches(args.workload):
        time_ns = process_time_ns
    results = RUNS[args.mode](step, args)
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    args.out.write_text(json.dumps({"versions": versions, "results": results}))


if __name__ == "__main__":
    sys.exit(main())
