#!/usr/bin/env python3
"""What sdxl-train takes: memory over many steps, and SDXL in its full size on a machine of 24 GiB.

    resources_test.py --train BIN --tiny FOLDER
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from full_size import make_full_size

args = None  # of the command line
GIB = 1 << 30
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


def available_bytes() -> int:
    found = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    return int(found[1]) * 1024


class ResourcesTest(unittest.TestCase):
    def setUp(self) -> None:
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = Path(work.name)

    def train(self, kind: str, *options) -> tuple[list[tuple[float, int]], int]:
        """Seconds from the start and resident KiB at the end of each step; and the peak in KiB."""
        command = [args.train, kind, "--images", args.tiny / "images", "--out", self.work / f"out-{kind}", *options]
        begin = time.monotonic()
        child = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.kill)
        steps, said = [], []
        with child.stderr as lines:
            for line in lines:
                said.append(line)
                if re.match(r"step \d+/\d+  loss \d+\.\d+", line):
                    pages = int(Path(f"/proc/{child.pid}/statm").read_text().split()[1])
                    steps.append((time.monotonic() - begin, pages * PAGE_KIB))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0, "".join(said[-5:]))
        return steps, usage.ru_maxrss

    def test_no_leak(self) -> None:
        """Of 500 steps the last hundred need at least no more than the second; a tensor kept a step would be seen."""
        model = ("--model", args.tiny / "model", "--resolution", "64", "--steps", "500", "--policy", "bf16-mixed")
        for kind in ("lora", "full"):
            steps, _ = self.train(kind, *model)
            self.assertEqual(len(steps), 500)
            resident = [kib for _, kib in steps]
            early, late = min(resident[100:200]), min(resident[400:])  # it comes and goes by 3 MiB
            print(f"{kind}: {early} KiB at least in steps 101 to 200, {late} KiB in steps 401 to 500")
            self.assertLess(late - early, 300 * 4)  # 4 KiB a step: one [1, 4, 16, 16] tensor

    def test_full_size(self) -> None:
        """A LoRA step of SDXL in its full size with random BFloat16 weights, at 32 x 32 latents, with checkpointing."""
        if available_bytes() < 16 * GIB:
            self.skipTest(f"needs 16 GiB of memory, {available_bytes() / GIB:.0f} are available")
        if shutil.disk_usage(self.work).free < 10 * GIB:
            self.skipTest(f"needs 10 GiB in {tempfile.gettempdir()}")
        make_full_size(self.work / "model", is_random=True)
        peaks = {}
        for options in ((), ("--gradient-checkpointing",)):
            steps, peak = self.train("lora", "--model", self.work / "model", "--resolution", "256", "--policy", "bf16",
                                     "--steps", "3", "--prompt", "a photo", *options)
            self.assertEqual(len(steps), 3)
            ends = [end for end, _ in steps]
            peaks[options] = peak
            print(f"full size {' '.join(options)}: first step after {ends[0]:.1f} s, then {ends[1] - ends[0]:.1f} and "
                  f"{ends[2] - ends[1]:.1f} s; peak {peak / 2**20:.2f} GiB")
        self.assertLess(max(peaks.values()), 16 * GIB / 1024)
        self.assertLess(peaks[("--gradient-checkpointing",)], peaks[()], "checkpointing keeps less")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True)
    parser.add_argument("--tiny", type=Path, required=True)
    args, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
