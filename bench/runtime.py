#!/usr/bin/env python3
"""What a training step of sdxl-train costs beside diffusers: step time, peak memory, start-up; in
one run, in turns. On the CPU times are CPU time of one thread: what else the machine does makes
both wait, and threads that wait for each other wait longest. Where there is a GPU both train on it
and times are wall time; memory is the host's.

    runtime.py                    the tiny and the mid-size model, each policy, a LoRA and the whole UNet
    runtime.py --quick            everything once, to see that it runs
    runtime.py --parts load       of steps, checkpointing, leak and load
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from processes import HERE, QUIET

ROOT = HERE.parent
POLICIES = ["fp32", "bf16-mixed", "bf16"]
KINDS = ["lora", "full"]
STEPS = {"tiny": 30, "mid": 6}
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


@dataclass
class Trained:
    first_s: float  # from the start of the process to the end of its first step
    steps_s: list[float]  # of the others
    peak_kib: int  # VmHWM
    resident_kib: list[int]  # after each step

    def start_up_s(self) -> float:
        return self.first_s - min(self.steps_s)


def resident_kib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_KIB


def wall_s(_: int) -> float:
    return time.perf_counter()


def cpu_s(pid: int) -> float:
    """Of all its threads that are alive."""
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in Path(f"/proc/{pid}/task").iterdir()) / 1e9


def watch(command: list[str], clock) -> Trained:
    """Runs a trainer on one thread; a step ends when it says so, its loss in hand."""
    environment = os.environ | QUIET
    begin = wall_s(0) if clock is wall_s else 0
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
    ends, resident, said = [], [], []
    for line in child.stdout:
        said.append(line)
        if re.match(r"step \d+/\d+ ", line):
            ends.append(clock(child.pid) - begin)
            resident.append(resident_kib(child.pid))
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0 or len(ends) < 2:
        raise SystemExit(f"{' '.join(command)}: ended with status {child.returncode}\n{''.join(said[-20:])}")
    steps = [b - a for a, b in zip(ends, ends[1:])]
    return Trained(ends[0], steps, usage.ru_maxrss, resident)


@dataclass
class Setting:
    models: Path
    train: str
    python: str
    device: str

    def watch(self, who: str, model: str, kind: str, policy: str, steps: int,
              *more: str) -> Trained:
        peer = [self.python, HERE / "runtime_worker.py"]
        with tempfile.TemporaryDirectory(dir=self.models) as work:
            start, end = ([self.train], ["--out", f"{work}/out"]) if who == "sdxl-train" else (peer,
                                                                                               [])
            command = [*start, kind, "--model", self.models / model, "--images",
                       self.models / "images", "--resolution", 64,
                       "--policy", policy, "--steps", steps, "--device", self.device, *more, *end]
            return watch([str(word) for word in command], cpu_s if self.device == "cpu" else wall_s)


WHO = ("sdxl-train", "diffusers")


def in_turns(setting: Setting, rounds: int, *words) -> dict:
    """Both, forth and back; of each the least step and start-up and the median peak."""
    runs = {who: [] for who in WHO}
    for turn in range(rounds):
        for who in WHO if turn % 2 == 0 else WHO[::-1]:
            runs[who].append(setting.watch(who, *words))
    return {
        who: {
            "step_ms": 1000 * min(min(run.steps_s) for run in of_one),
            "median_ms": 1000 * median(step for run in of_one for step in run.steps_s),
            "peak_mib": median(run.peak_kib for run in of_one) / 1024,
            "start_up_s": min(run.start_up_s() for run in of_one),
        }
        for who, of_one in runs.items()
    }


def print_pair(name: str, pair: dict) -> None:
    print(f"{name:<38}  step, ms    median  peak, MiB  start-up, s")
    for who in WHO:
        f = pair[who]
        print(f"  {who:<34} {f['step_ms']:>11.1f} {f['median_ms']:>9.1f} {f['peak_mib']:>10.0f} {f['start_up_s']:>12.2f}")
    ratios = [pair[WHO[0]][key] / pair[WHO[1]][key]
              for key in ("step_ms", "median_ms", "peak_mib", "start_up_s")]
    print("  {:<34} {:>11.2f} {:>9.2f} {:>10.2f} {:>12.2f}".format("ratio", *ratios), flush=True)


def steps(setting: Setting, options: argparse.Namespace) -> dict:
    found = {}
    for model in options.models:
        for kind in options.kinds:
            for policy in options.policies:
                count = 3 if options.quick else STEPS[model]
                name = f"{model}, {kind}, {policy}"
                found[name] = in_turns(setting, options.rounds, model, kind, policy, count)
                print_pair(name, found[name])
    return found


def checkpointing(setting: Setting, options: argparse.Namespace) -> dict:
    """What of the activations it leaves out, and what that costs."""
    found = {}
    for kind in options.kinds:
        for policy in options.policies:
            name = f"{options.models[-1]}, {kind}, {policy}, checkpointing"
            words = (options.models[-1], kind, policy, 2 if options.quick else 4,
                     "--gradient-checkpointing")
            found[name] = in_turns(setting, 1, *words)
            print_pair(name, found[name])
    return found


def leak(setting: Setting, options: argparse.Namespace) -> dict:
    """Resident memory by step: least squares over all but the first fifth."""
    count = 50 if options.quick else 500
    found = {}
    for kind in options.kinds:
        resident = setting.watch(WHO[0], "tiny", kind, "bf16-mixed",
                                 count).resident_kib[count // 5 :]
        middle, mean = (len(resident) - 1) / 2, sum(resident) / len(resident)
        slope = sum((i - middle) * (kib - mean) for i, kib in enumerate(resident))
        slope /= sum((i - middle) ** 2 for i in range(len(resident)))
        found[kind] = {"steps": count, "kib_per_step": slope, "from_kib": resident[0],
                       "to_kib": resident[-1]}
        print(f"tiny, {kind}, bf16-mixed: {count} steps, {slope:+.3f} KiB a step, {resident[0]} to {resident[-1]} KiB", flush=True)
    return found


def best_of(count: int, work) -> float:
    taken = []
    for _ in range(count):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def read_all(files: list[Path]) -> None:
    buffer = bytearray(1 << 24)
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass


def load(setting: Setting, _: argparse.Namespace) -> dict:
    """SDXL in its full size, of random numbers: mapped and checked, every number read, and the
    bytes read and dropped.
    """
    model = setting.models / "full"
    if not model.exists():
        subprocess.run([setting.python, ROOT / "tests" / "runtime" / "full_size.py", model,
                        "--random"], check=True)
    files = sorted(model.glob("*/*.safetensors"))
    check = [setting.train, "check", "--model", str(model)]
    run = lambda *more: subprocess.run([*check, *more], check=True, stdout=subprocess.DEVNULL)
    found = {
        "bytes": sum(file.stat().st_size for file in files),
        "read_s": best_of(3, lambda: read_all(files)),
        "mapped_s": best_of(3, run),
        "looked_at_s": best_of(3, lambda: run("--values")),
    }
    print(f"full size, {found['bytes'] / 2**30:.2f} GiB: reading its bytes {found['read_s']:.2f} s, sdxl-train check "
          f"{found['mapped_s']:.2f} s, with --values {found['looked_at_s']:.2f} s "
          f"({found['looked_at_s'] / found['read_s']:.2f} x)", flush=True)
    return found


PARTS = {"steps": steps, "checkpointing": checkpointing, "leak": leak, "load": load}


def machine() -> str:
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    load_before = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return (f"cpu {cpu[1] if cpu else platform.machine()}, cores {os.cpu_count()}, load before {load_before}, "
            f"date {time.strftime('%Y-%m-%d')}")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", default=str(ROOT / "build" / "bin" / "sdxl-train"),
                        help="default: %(default)s")
    parser.add_argument("--models", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=POLICIES)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--device", choices=("cpu", "cuda"),
                        help="default: cuda where there is a GPU")
    parser.add_argument("--rounds", type=int, default=2,
                        help="processes of each, in turns (default: %(default)s)")
    parser.add_argument("--folder", type=Path,
                        help="where models are made, and kept; default: a temporary one")
    parser.add_argument("--json", type=Path, help="write all figures here too")
    parser.add_argument("--quick", action="store_true", help="everything once, to see that it runs")
    options = parser.parse_args()
    if options.quick:
        options.rounds = 1
    if not options.device:
        asked = [sys.executable, "-c", "import sys, torch; sys.exit(not torch.cuda.is_available())"]
        options.device = "cpu" if subprocess.run(asked,
                                                 stderr=subprocess.DEVNULL).returncode else "cuda"
    return options


def main() -> None:
    options = parse_args()
    if not Path(options.train).exists():
        sys.exit(f"{options.train}: is not there; build it, or name another with --train")
    with tempfile.TemporaryDirectory() as temporary:
        models = options.folder or Path(temporary)
        models.mkdir(parents=True, exist_ok=True)
        setting = Setting(models, options.train, sys.executable, options.device)
        missing = [name for name in options.models if not (models / name).exists()]
        subprocess.run([sys.executable, HERE / "runtime_models.py", models, *missing], check=True,
                       env=os.environ | QUIET)
        print(f"{machine()}, device {options.device}", flush=True)
        figures = {part: PARTS[part](setting, options) for part in options.parts}
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), **figures}, indent=1))


if __name__ == "__main__":
    main()
