#!/usr/bin/env python3
"""Trains examples/sdxl_lora/train.py traced and untraced, and compares what it prints and saves bit by bit. Nothing is found in it.

    bit_identical.py --dtypecheck BIN --train train.py --model TINY [-- OPTIONS OF train.py…]
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors import safe_open

from expectations import read_script
from run_failure import problems_of


def train(prefix: list, args: argparse.Namespace, out: Path) -> list[str]:
    """Runs three steps; returns the lines with the losses, which are printed with all digits that Float has."""
    command = [*prefix, sys.executable, args.train, "--model", args.model / "model", "--data", args.model / "images"]
    command += ["--output_dir", out, "--resolution", "64", "--max_train_steps", "3", "--seed", "7", *args.options]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return re.findall(r"^step .*", done.stdout, re.MULTILINE)


def tensors(folder: Path) -> dict:
    found = {}
    for path in sorted(folder.rglob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            found |= {(path.name, key): file.get_tensor(key) for key in file.keys()}
    return found


def bits(tensor: torch.Tensor) -> tuple:
    """For ==, which tensors' own gets wrong here: NaN differs from itself, and 0 equals -0."""
    return tensor.dtype, tensor.shape, tensor.reshape(-1).view(torch.uint8).numpy().tobytes()


def differences(plain: dict, traced: dict) -> list[str]:
    if plain.keys() != traced.keys():
        return [f"saved tensors differ: {sorted(plain.keys() ^ traced.keys())}"]
    return [f"{key} differs" for key in plain if bits(plain[key]) != bits(traced[key])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypecheck", type=Path, required=True)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain_losses = train([], args, folder / "plain")
        report = folder / "report.json"
        traced_losses = train([args.dtypecheck, "trace", "--out", folder / "run", "--format", "json", "-o", report, "--"], args,
                              folder / "traced")
        found = problems_of(read_script(args.train), 0, json.loads(report.read_text()))
        plain, traced = tensors(folder / "plain"), tensors(folder / "traced")
        problems = found + differences(plain, traced)
    if len(plain_losses) != 3 or not plain:
        problems.append(f"{len(plain_losses)} losses and {len(plain)} tensors, expected 3 losses and some tensors")
    if plain_losses != traced_losses:
        problems.append(f"losses differ: {plain_losses} untraced, {traced_losses} traced")
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{len(plain)} tensors and {len(plain_losses)} losses are equal")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
