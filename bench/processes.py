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

    def pretended_gpu(self) -> dict[str, str]:
        """The environment in which LibTorch finds a GPU that computes nothing, as
        cli/pretended_gpu.cpp makes it: what launching costs is left.
        """
        folder = Path(self.dtypecheck).resolve().parent.parent / "libexec" / "dtypecheck" / "pretended"
        return {"LD_PRELOAD": f"{folder / 'libcuda.so.1'}:{folder / 'libnvidia-ml.so.1'}",
                "DTYPECHECK_PRETENDED_GPU": "a100", "DTYPECHECK_PRETENDED_GPUS": "1",
                "TORCH_CUDNN_V8_API_DISABLED": "1"}

    def traced(self, run_folder: Path, *options: str) -> list[str]:
        return [self.dtypecheck, "trace", "--no-report", *options, "--out", str(run_folder), "--"]


def run(command: list[str], accept=(0,), environment: dict[str, str] = {}) -> Ended:
    """Raises SystemExit with the end of its output when it fails."""
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        child = subprocess.Popen(command, env=os.environ | QUIET | environment, stdout=output,
                                 stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in accept:
            output.seek(0)
            print(output.read().decode(errors="replace")[-2000:], file=sys.stderr)
            raise SystemExit(f"{' '.join(command)}: ended with status {child.returncode}")
    return Ended(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def launches(workload: str) -> bool:
    return "-launches" in workload


def options_of(workload: str) -> list[str]:
    """Of trace. Kernels and samples of a GPU that computes nothing are a workload of their own."""
    return ["--no-gpu"] if launches(workload) and not workload.endswith("-kernels") else []


def worker(tools: Tools, folder: Path, mode: str, workload: str, options: dict) -> dict:
    """One process of overhead_worker.py; its results."""
    out = folder / f"{mode}-{workload}.json"
    command = [tools.python, str(HERE / "overhead_worker.py"), mode, workload, str(out)]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    if mode != "peers":
        run_folder = Path(tempfile.mkdtemp(dir=folder))
        command = tools.traced(run_folder, *options_of(workload)) + command
    run(command, environment=tools.pretended_gpu() if launches(workload) else {})
    return json.loads(out.read_text())
