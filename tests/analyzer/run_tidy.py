"""Runs the cases of the checks in a stock clang-tidy with the plugin, against the same // EXPECT lines.

usage: run_tidy.py CLANG_TIDY PLUGIN [--examples]

--examples: only the example of each check.

Errors are warnings there, and notes are remarks.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import run_cases

STUBS = run_cases.ROOT / "analyzer/stubs"
INCLUDED = re.compile(r"^#include <((?:ATen|c10|torch)/.+)>", re.M)
FLAGS = ["-std=c++17", "-DTORCH_EXTENSION_NAME=extension", "-isystem", STUBS / "torch", "-idirafter", STUBS / "common"]
CUDA_FLAGS = ["-x", "cuda", "--cuda-host-only", f"--cuda-path={STUBS / 'cuda'}", "-nocudainc", "-nocudalib", "-Xclang",
              "-fcuda-allow-variadic-functions", "-isystem", STUBS / "cuda",
              "-include", "dtypecheck_cuda.h"]
SAID = re.compile(r"^(.+?):(\d+):\d+: (warning|remark): (.*) \[dtypecheck-([a-z0-9-]+)[\],]")
BROKEN = re.compile(r"^(\S+:\d+:\d+: (fatal )?)?error: ")  # not of a line that clang-tidy quotes
SEVERITIES = {"error": "warning", "warning": "warning", "note": "remark"}


def write_headers(files, folder):
    """dtypecheck finds each of LibTorch's headers in the one that is bundled; clang-tidy finds it where it lies."""
    for path in files:
        for name in INCLUDED.findall(path.read_text()):
            if (STUBS / "torch" / name).exists():
                continue
            header = folder / name
            header.parent.mkdir(parents=True, exist_ok=True)
            header.write_text('#include "dtypecheck_torch.h"\n')


def tidy(clang_tidy, plugin, files, flags):
    command = [clang_tidy, f"--load={plugin}", "--checks=-*,dtypecheck-*", *files, "--", *flags]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=900)
    found = {str(path): [] for path in files}
    for line in done.stdout.splitlines():
        match = SAID.match(line)
        if match:
            path, number, level, message, rule = match.groups()
            found[str(pathlib.Path(path))].append((int(number), level, message, rule))
    broken = [line for line in (done.stdout + done.stderr).splitlines() if BROKEN.match(line)]
    if broken:
        print("\n".join(broken))
        raise SystemExit("clang-tidy failed")
    return found


def compare(found):
    right = True
    for path, said in found.items():
        wanted = [(line, SEVERITIES[severity], message, rule)
                  for line, severity, message, rule in run_cases.expected(pathlib.Path(path).read_text())]
        for wrong in sorted(set(wanted) ^ set(said)):
            print(f"{path}: {'expected, not' if wrong in wanted else 'not expected, but'} found: {wrong}")
            right = False
    return right


def main(clang_tidy, plugin, *options):
    # The rules of a run judge whole runs, and are not in the plugin; nor is what the command does to parse more, or knows of a project.
    cases = [path for path in sorted(pathlib.Path(__file__).parent.glob("*/*.c*")) if path.parent.name not in ("no_casts", "ops", "parsing")]
    if "--examples" in options:
        cases = []
    with tempfile.TemporaryDirectory(prefix="dtypecheck-test-") as folder:
        examples = []
        for rule in run_cases.all_ids():
            examples.append(run_cases.write_example(rule, folder))
        host = [path for path in cases + examples if path.suffix == ".cpp"]
        device = [path for path in cases + examples if path.suffix == ".cu"]
        headers = pathlib.Path(folder) / "headers"
        write_headers(host + device, headers)
        flags = [*FLAGS, "-isystem", headers]
        found = tidy(clang_tidy, plugin, host, [*flags, "-isystem", STUBS / "cuda"])
        found.update(tidy(clang_tidy, plugin, device, [*CUDA_FLAGS, *flags]))
        if not any(found.values()):
            print("the plugin found nothing at all")
            return False
        return compare(found)


if __name__ == "__main__":
    sys.exit(0 if main(*sys.argv[1:]) else 1)
