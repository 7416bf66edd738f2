#!/usr/bin/env python3
"""What dtypecheck trace costs, beside what PyTorch's own observers cost, measured in one run on one
machine.

    .venv/bin/python bench/overhead.py                  the small steps, --steady, and whole runs: about 15 minutes
    .venv/bin/python bench/overhead.py --mid            also a UNet of 280 M parameters: 10 minutes more
    .venv/bin/python bench/overhead.py --parts --workloads full-sdxl-launches
                                                        what launching the full-size UNet costs more: 10 minutes
    .venv/bin/python bench/overhead.py --quick          everything once and short: do the figures come at all?

bench/README.md says what each figure means. The machine should do nothing else meanwhile.
"""

import argparse
import contextlib
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

import figures
import run_costs
import tables
from processes import HERE, Tools, worker

# Options of overhead_worker.py.
PLANS = {
    "transformer": {"warmup": 200, "rounds": 50, "steps": 30, "peer-rounds": 7, "peer-steps": 20},
    "tiny-sdxl": {"warmup": 20, "rounds": 25, "steps": 10, "peer-rounds": 5, "peer-steps": 4},
    "tiny-sdxl-bf16": {"warmup": 20, "rounds": 15, "steps": 10, "peer-rounds": 3, "peer-steps": 4,
                       "peer": tables.STACKS},
    "mid-sdxl": {"warmup": 3, "rounds": 6, "steps": 5, "peer-rounds": 3, "peer-steps": 1,
                 "peer": tables.STACKS},
    "mid-sdxl-bf16": {"warmup": 3, "rounds": 6, "steps": 5, "peer-rounds": 3, "peer-steps": 1,
                      "peer": tables.STACKS},
}
LAUNCHES = {"warmup": 8, "rounds": 6, "steps": 10, "peer-rounds": 3, "peer-steps": 1,
            "peer": tables.STACKS}
LAUNCH_PLANS = {
    "tiny-sdxl-launches": LAUNCHES | {"rounds": 15, "steps": 20, "peer-steps": 4},
    "full-sdxl-launches": LAUNCHES,
    "tiny-sdxl-compiled-launches": LAUNCHES | {"rounds": 15, "steps": 20, "peer-steps": 4},
    "tiny-sdxl-graphed-launches": LAUNCHES | {"rounds": 15, "steps": 20, "peer-steps": 4},
    "tiny-sdxl-launches-kernels": LAUNCHES | {"rounds": 15, "steps": 20, "peer-steps": 4},
}
STEADY = {"warmup": 40, "rounds": 20, "steps": 32}
QUICK = {"warmup": 3, "rounds": 3, "steps": 2, "peer-rounds": 1, "peer-steps": 1}
QUICK_STEADY = {"warmup": 15, "rounds": 2, "steps": 8}


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def cpu_model() -> str:
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def load() -> str:
    return "{:.1f} {:.1f} {:.1f}".format(*os.getloadavg())


@contextlib.contextmanager
def kept_going(failed: list[str], part: str):
    """A part that fails costs its own figures, not the half hour before it."""
    try:
        yield
    except SystemExit as error:
        failed.append(part)
        say(f"{part}: {error}")


def measure(args: argparse.Namespace, tools: Tools, folder: Path, failed: list[str]) -> dict:
    machine = {"cpu": cpu_model(), "cores": os.cpu_count(), "kernel": platform.release(),
               "nice": os.nice(0)}
    results = {"date": time.strftime("%Y-%m-%d"), "machine": machine | {"load_before": load()},
               "workloads": {}}
    for name in args.workloads:
        measure_one = measure_launches if name in LAUNCH_PLANS else measure_workload
        with kept_going(failed, name):
            measure_one(args, tools, folder, name, results)
    if "steady" in args.parts:
        with kept_going(failed, "--steady"):
            results["steady"] = measure_steady(args, tools, folder)
    if "runs" in args.parts:
        with kept_going(failed, "whole runs"):
            measure_runs(args, tools, folder, results)
    if "health" in args.parts:
        with kept_going(failed, "--health"):
            say(f"--health; load {load()}")
            results["health"] = run_costs.health(tools, folder, 5 if args.quick else 60,
                                                 1 if args.quick else 5)
    results["machine"]["load_after"] = load()
    return results


def measure_workload(args: argparse.Namespace, tools: Tools, folder: Path, name: str,
                     results: dict) -> None:
    plan = QUICK | {k: v for k, v in PLANS[name].items()
                    if k == "peer"} if args.quick else PLANS[name]
    traced, peers = [], []
    for process in range(args.processes):
        say(f"{name}, process {process + 1} of {args.processes}; load {load()}")
        traced.append(worker(tools, folder, "traced", name, plan))
        peers.append(worker(tools, folder, "peers", name, plan))
    results["machine"] |= peers[0]["versions"]
    results["workloads"][name] = figures.of_workload([p["results"] for p in traced],
                                                     [p["results"] for p in peers])


def measure_launches(args: argparse.Namespace, tools: Tools, folder: Path, name: str,
                     results: dict) -> None:
    plan = LAUNCH_PLANS[name] | (QUICK if args.quick else {})
    traced, peers = [], []
    for process in range(args.processes):
        say(f"{name}, process {process + 1} of {args.processes}; load {load()}")
        traced.append(worker(tools, folder, "launches", name, plan)["results"])
        peers.append(worker(tools, folder, "peers", name, plan))
    results["machine"] |= peers[0]["versions"]
    results.setdefault("launches", {})[name] = figures.of_launches(
        traced, [one["results"] for one in peers])


def measure_steady(args: argparse.Namespace, tools: Tools, folder: Path) -> dict:
    plan = QUICK_STEADY if args.quick else STEADY
    processes = []
    for process in range(args.processes):
        say(f"--steady, process {process + 1} of {args.processes}; load {load()}")
        processes.append(worker(tools, folder, "steady", "tiny-sdxl", plan)["results"])
    return figures.of_steady(processes)


def measure_runs(args: argparse.Namespace, tools: Tools, folder: Path, results: dict) -> None:
    steps, count = (20, 1) if args.quick else (args.long_steps, 5)
    say(f"starting up; load {load()}")
    results["start_up"] = run_costs.start_up(tools, folder, 3 * count)
    say(f"memory; load {load()}")
    results["memory"] = run_costs.memory(tools, folder, min(30, steps), count)
    say(f"{steps} steps of the example; load {load()}")
    results["long_run"] = run_costs.long_run(tools, folder, steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    small = ["transformer", "tiny-sdxl", "tiny-sdxl-bf16"]
    parser.add_argument("--dtypecheck", default=str(HERE.parent / "build" / "bin" / "dtypecheck"),
                        metavar="EXE")
    parser.add_argument("--python", default=sys.executable, metavar="EXE",
                        help="one with torch (default: this one)")
    parser.add_argument("--workloads", nargs="*", choices=[*PLANS, *LAUNCH_PLANS], default=small,
                        help=f"default: {' '.join(small)}")
    parser.add_argument("--mid", action="store_true", help="also the mid-size UNet, in both dtypes")
    parser.add_argument("--parts", nargs="*", choices=("steady", "runs", "health"),
                        default=["steady", "runs", "health"], help="default: all")
    parser.add_argument("--processes", type=int, default=3, metavar="N",
                        help="of each kind (default: %(default)s)")
    parser.add_argument("--long-steps", type=int, default=1000, metavar="N",
                        help="of the example (default: %(default)s)")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all figures, for programs")
    args = parser.parse_args()
    if not os.access(args.dtypecheck, os.X_OK):
        parser.error(f"{args.dtypecheck}: no such program; build it, or name it with --dtypecheck")
    if args.mid:
        args.workloads = list(PLANS)
    if args.quick:
        args.processes = 1
    with tempfile.TemporaryDirectory(prefix="dtypecheck-bench-") as folder:
        failed: list[str] = []
        results = measure(args, Tools(args.dtypecheck, args.python), Path(folder), failed)
    tables.print_results(results)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n")
    if failed:
        raise SystemExit(f"not measured: {', '.join(failed)}")


if __name__ == "__main__":
    main()
