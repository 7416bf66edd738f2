#!/usr/bin/env python3
"""What a step costs that is recorded for comparison: dtypecheck trace --values beside PyTorch's DebugMode
with hashes of inputs and results, and beside msProbe's dump of statistics.

    .venv/bin/python bench/digests.py [--probe PYTHON] [--workload tiny-sdxl]

Watched and plain steps take turns in one process of each; a step's time is the least of all, of thread CPU
time on one thread. `--probe` names a Python in which mindstudio-probe is installed beside torch; without it
that row is left out, and said so.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import thread_time_ns

HERE = Path(__file__).resolve().parent
STEPS = 8  # of each kind; the first of each warms up
WATCHED = ",".join(str(number) for number in range(2, 2 * STEPS + 1, 2))
NEVER = "1000000"


def folder_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@contextlib.contextmanager
def debug_mode():
    from torch.utils._debug_mode import DebugMode
    with DebugMode(record_nn_module=True), DebugMode.log_tensor_hashes(hash_inputs=True):
        yield


class Probe:
    """msProbe's statistics of each API's inputs and results."""

    def __init__(self, folder: str):
        from msprobe.pytorch import PrecisionDebugger
        config = Path(folder) / "config.json"
        config.write_text(json.dumps({"task": "statistics", "dump_path": folder + "/dump", "rank": [], "step": [], "level": "L1",
                                      "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}))
        self.debugger = PrecisionDebugger(config_path=str(config))

    @contextlib.contextmanager
    def watched(self):
        self.debugger.start()
        yield
        self.debugger.stop()
        self.debugger.step()


WATCH = {"ours": contextlib.nullcontext, "debug-mode": debug_mode}


def work(kind: str, workload: str, folder: str) -> dict:
    """Watched steps are the even ones, which is what --values lists for `ours`."""
    import torch
    from workloads import WORKLOADS
    torch.set_num_threads(1)
    step = WORKLOADS[workload]()
    watch = Probe(folder).watched if kind == "probe" else WATCH[kind]
    times = {False: [], True: []}
    for number in range(1, 2 * STEPS + 1):
        watched = number % 2 == 0
        begin = thread_time_ns()
        with watch() if watched else contextlib.nullcontext():
            step()
        times[watched].append(thread_time_ns() - begin)
    return {"plain": min(times[False][1:]), "watched": min(times[True][1:])}


def run(kind: str, workload: str, python: str, dtypecheck: str, steps: str = WATCHED) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "times.json"
        command = [python, str(Path(__file__).resolve()), "--work", kind, "--workload", workload, "--folder", folder, "--out", str(out)]
        recorded = Path(folder) / "run"
        if kind == "ours":
            command = [dtypecheck, "trace", f"--values={steps}", "--no-report", "--no-gpu", "--out", str(recorded), "--", *command]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0 or not out.exists():
            sys.exit(f"{kind}: {' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
        result = json.loads(out.read_text())
        written = {"ours": recorded, "probe": Path(folder) / "dump"}.get(kind)
        result["bytes"] = folder_bytes(written) if written else None
        return result


def step_bytes(kind: str, written: int, *how: str) -> float:
    """What a step adds: a trace has the signatures of its op calls as well."""
    beside = run(kind, *how, steps=NEVER)["bytes"] if kind == "ours" else 0
    return (written - beside) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default="tiny-sdxl")
    parser.add_argument("--probe", metavar="PYTHON", help="a Python with torch and mindstudio-probe")
    parser.add_argument("--dtypecheck", default=str(HERE.parent / "build" / "bin" / "dtypecheck"))
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        Path(args.out).write_text(json.dumps(work(args.work, args.workload, args.folder)))
        return
    print(f"{args.workload}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    rows = [("dtypecheck trace --values", "ours", sys.executable), ("DebugMode, hashes of inputs and results", "debug-mode", sys.executable)]
    if args.probe:
        rows.append(("msProbe, statistics, L1", "probe", args.probe))
    ours = None
    for name, kind, python in rows:
        result = run(kind, args.workload, python, args.dtypecheck)
        added = (result["watched"] - result["plain"]) / 1e6
        ours = ours or added
        written = result["bytes"]
        size = "in memory" if written is None else f"{step_bytes(kind, written, args.workload, python, args.dtypecheck) / 1e6:.1f} MB a step"
        print(f"{name:40} {result['plain'] / 1e6:7.1f} ms plain {result['watched'] / 1e6:8.1f} ms watched, x {result['watched'] / result['plain']:5.2f}, "
              f"adds {added / ours:5.1f} times ours, {size}", flush=True)
    if not args.probe:
        print("msProbe: not measured, for no --probe was given")


if __name__ == "__main__":
    main()
