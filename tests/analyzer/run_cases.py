"""Lints a case and compares what is found with the // EXPECT lines under the lines it is about.

usage: run_cases.py FILE… | --example ID… | --real-torch | --real-parsing | --system-torch

--real-torch takes the examples to the LibTorch of .venv, --real-parsing the cases of parsing/ (those of CUDA where a toolkit is),
--system-torch some of them to that of the system (1.13).

    // EXPECT warning: message [rule]

A finding without an EXPECT fails as surely as an EXPECT without a finding.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DTYPECHECK = os.environ["DTYPECHECK"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
ON_SYSTEM = ["constant-dtype-output", "dispatch-missing-half", "dispatch-other-tensor-unchecked", "half-accumulation", "scalar-item"]
HAS_CUDA = pathlib.Path("/usr/local/cuda/include/crt").exists()
EXPECT = re.compile(r"//\s*EXPECT\s+(error|warning|note): (.*) \[([a-z0-9-]+)\]\s*$")


def expected(source):
    """(line, severity, message, rule) of each EXPECT; the line is the one above the EXPECTs."""
    found, line = [], 0
    for number, text in enumerate(source.splitlines(), 1):
        match = EXPECT.search(text)
        if match:
            found.append((line, *match.groups()))
        else:
            line = number
    return sorted(found)


def lint(path, torch):
    done = subprocess.run([DTYPECHECK, "lint", "--torch", torch, "--format", "json", str(path)],
                          capture_output=True, text=True, timeout=900)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{path}: {done.stderr}")
    return json.loads(done.stdout)


def compare(name, path, torch):
    report = lint(path, torch)
    found = sorted((f["location"]["line"], f["severity"], f["message"], f["rule"]) for f in report["findings"])
    wanted = expected(path.read_text())
    wrong = [f"expected, not found: {e}" for e in wanted if e not in found]
    wrong += [f"found, not expected: {f}" for f in found if f not in wanted]
    if report["source"]["partly"]:
        wrong.append(f"parsed with errors: {report['remarks']}")
    for line in wrong:
        print(f"{name}: {line}")
    return not wrong


def example(rule):
    page = subprocess.run([DTYPECHECK, "lint", "--explain", rule], capture_output=True, text=True, check=True).stdout
    lines = page[page.index("\nexample\n") + 9:].splitlines()
    return "\n".join(line[2:] for line in lines) + "\n"


def write_example(rule, folder, header="torch/extension.h"):
    text = example(rule).replace("torch/extension.h", header)
    path = pathlib.Path(folder) / f"{rule}.{'cu' if '__global__' in text else 'cpp'}"
    path.write_text(text)
    return path


def check_example(rule, folder, torch, header="torch/extension.h"):
    path = write_example(rule, folder, header)
    text = path.read_text()
    if not any(e[3] == rule for e in expected(text)):
        print(f"{rule}: its example has no EXPECT of it")
        return False
    return compare(rule, path, torch)


def all_ids():
    text = subprocess.run([DTYPECHECK, "lint", "--list-checks"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in text[:text.index("\n\n")].splitlines()]


def main(arguments):
    with tempfile.TemporaryDirectory(prefix="dtypecheck-test-") as folder:
        if arguments[0] == "--example":
            return all([check_example(rule, folder, "bundled") for rule in arguments[1:]])
        if arguments[0] in ("--real-torch", "--real-parsing"):
            found = sorted(ROOT.glob(".venv/lib/python3*/site-packages/torch"))
            if not found:
                print("skipped: no torch in .venv; scripts/setup puts it there")
                sys.exit(77)
            if arguments[0] == "--real-parsing":
                cases = [case for case in sorted(ROOT.glob("tests/analyzer/parsing/*.c*")) if case.suffix == ".cpp" or HAS_CUDA]
                return all([compare(case, case, str(found[0])) for case in cases])
            return all([check_example(rule, folder, str(found[0])) for rule in all_ids()])
        if arguments[0] == "--system-torch":
            if not pathlib.Path("/usr/include/ATen/core/Tensor.h").exists():
                print("skipped: no LibTorch in /usr/include; the package is libtorch-dev")
                sys.exit(77)
            # Its torch/extension.h wants pybind11, a package of its own.
            return all([check_example(rule, folder, "/usr", "torch/types.h") for rule in ON_SYSTEM])
        return all([compare(path, pathlib.Path(path), "bundled") for path in arguments])


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
