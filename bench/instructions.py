#!/usr/bin/env python3
"""How many instructions a step runs plain, traced, and where --steady looks away, on a GPU that computes
nothing: what launching costs, told to a tenth of a percent on a machine that is busy.

    .venv/bin/python bench/instructions.py                                  the tiny UNet: 5 minutes
    .venv/bin/python bench/instructions.py --workload full-sdxl-launches    10 minutes

Needs valgrind. The counts of each function stay in --keep FOLDER, for callgrind_annotate.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

import processes
from processes import HERE, Tools

STATES = ("plain", "dtypecheck", "looking away")


def count(tools: Tools, folder: Path, workload: str, state: str) -> int:
    counted = folder / f"{state.replace(' ', '-')}.callgrind"
    command = tools.traced(Path(tempfile.mkdtemp(dir=folder)), *processes.options_of(workload))
    command += ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={counted}"]
    command += [tools.python, str(HERE / "overhead_worker.py"), "instructions", workload, "/dev/null",
                "--warmup", "5", "--state", state]
    processes.run(command, environment=tools.pretended_gpu())
    return int(re.search(r"^totals: (\d+)", counted.read_text(), re.MULTILINE).group(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypecheck", default=str(HERE.parent / "build" / "bin" / "dtypecheck"),
                        metavar="EXE")
    parser.add_argument("--python", default=sys.executable, metavar="EXE")
    parser.add_argument("--workload", default="tiny-sdxl-launches")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    tools = Tools(args.dtypecheck, args.python)
    with tempfile.TemporaryDirectory(prefix="dtypecheck-bench-") as temporary:
        folder = args.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        counts = {state: count(tools, folder, args.workload, state) for state in STATES}
    for state, instructions in counts.items():
        print(f"{args.workload} {state:13} {instructions / 1e6:10.1f} M instructions "
              f"{(instructions / counts['plain'] - 1) * 100:+6.2f} %")


if __name__ == "__main__":
    main()
