"""Runs programs to their end, with or without dtypecheck, and says what they took."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

QUIET = {"HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore", "TRANSFORMERS_VERBOSITY": "error",
         "OMP_NUM_THREADS": "1"}
HERE = Path(__file__).resolve().parent


@dataclass
class Ended:
    wall_s: float
    cpu_s: float  # user and system, of the process and what it waited for
    peak_kib: int  # largest resident set among them (VmHWM)


@dataclass
class Tools:
    dtypecheck: str
    python: str

    def traced(self, run_folder: Path, *options: str) -> list[str]:
        return [self.dtypecheck, "trace", "--no-report", *options, "--out", str(run_folder), "--"]


def run(command: list[str], accept=(0,)) -> Ended:
    """Raises SystemExit with the end of its output when it fails."""
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        child = subprocess.Popen(command, env=os.environ | QUIET, stdout=output,
                                 stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in accept:
            output.seek(0)
            print(output.read().decode(errors="replace")[-2000:], file=sys.stderr)
            raise SystemExit(f"{' '.join(command)}: ended with status {child.returncode}")
    return Ended(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def worker(tools: Tools, folder: Path, mode: str, workload: str, options: dict) -> dict:
    """One process of overhead_worker.py; its results."""
    out = folder / f"{mode}-{workload}.json"
    command = [tools.python, str(HERE / "overhead_worker.py"), mode, workload, str(out)]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    if mode != "peers":
        run_folder = Path(tempfile.mkdtemp(dir=folder))
        command = tools.traced(run_folder) + command
    run(command)
    return json.loads(out.read_text())
