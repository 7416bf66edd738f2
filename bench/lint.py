#!/usr/bin/env python3
"""What `dtypecheck lint` costs beside the compiler and clang-tidy, on the same files in one run.

    .venv/bin/python bench/lint.py                      five minutes
    .venv/bin/python bench/lint.py --rounds 1 FILE…     on files of your own

Each program takes its turn on each file; times are user and system CPU seconds of the process and
its children, the least of all rounds; memory is the largest of one process. LibTorch is that of
.venv. bench_dtype_flow has what the following of dtypes costs alone.
"""

import argparse
import os
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADERS = ["torch/types.h", "torch/torch.h", "torch/extension.h"]
PRECOMPILES = "dtypecheck lint, precompiles headers"
PRECOMPILED = "dtypecheck lint, headers precompiled"
FORGETS = {PRECOMPILES: ["*.facts", "pch/*.pch"], PRECOMPILED: ["*.facts"]}
FUNCTION = """
at::Tensor op_{n}(at::Tensor x, at::Tensor weight, at::Tensor index) {{
  TORCH_CHECK(x.scalar_type() == weight.scalar_type(), "op_{n}: x and weight differ");
  at::Tensor out = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "op_{n}", [&] {{
    const scalar_t* from = x.data_ptr<scalar_t>();
    const scalar_t* scale = weight.data_ptr<scalar_t>();
    scalar_t* to = out.data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); ++i) to[i] = from[i] * scale[i % weight.numel()];
  }});
  return out.index_select(0, index.to(at::kLong));
}}
"""


def forget(cache, *patterns):
    """Removes what the cache keeps under these names."""
    for pattern in patterns:
        for entry in (cache / "dtypecheck/lint").glob(pattern):
            entry.unlink()


def cost(command, folder, cache, forgets=()):
    """(CPU seconds, MiB) of a command and what it starts; its exit status does not matter."""
    forget(cache, *forgets)
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    child = os.fork()
    if child == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        for end in (0, 1, 2):
            os.dup2(nothing, end)
        os.chdir(folder)
        os.execve(command[0], [str(word) for word in command], environment)
    _, status, used = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        raise SystemExit(f"{command[0]} died of signal {os.WTERMSIG(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def programs(dtypecheck, torch, file, cache):
    python = sysconfig.get_paths()["include"]
    flags = ["-std=c++17", "-w", "-isystem", torch / "include", "-isystem",
             torch / "include/torch/csrc/api/include",
             "-isystem", python]
    lint = [dtypecheck, "lint", "-j", "1", "--fail-on", "never"]
    everything = {
        "clang++-19 -fsyntax-only": [shutil.which("clang++-19"), "-fsyntax-only", *flags, file],
        "dtypecheck lint": [*lint, "--no-cache", "--torch", torch, file],
        PRECOMPILES: [*lint, "--torch", torch, file],
        PRECOMPILED: [*lint, "--torch", torch, file],
        "dtypecheck lint, again": [*lint, "--torch", torch, file],
        "dtypecheck lint --torch bundled": [*lint, "--no-cache", "--torch", "bundled", file],
        "clang-tidy-19, its default checks": [shutil.which("clang-tidy-19"), file, "--", *flags],
        "clang-tidy-19, only the plugin": [shutil.which("clang-tidy-19"),
                                           f"--load={dtypecheck.parents[1]}/lib/libdtypecheck-tidy.so",
                                           "--checks=-*,dtypecheck-*", file, "--", *flags],
    }
    # Fills the cache: the second run finds that the first wanted the headers too.
    cost(everything[PRECOMPILED], file.parent, cache)
    cost(everything[PRECOMPILED], file.parent, cache, FORGETS[PRECOMPILED])
    return {name: command for name, command in everything.items() if command[0] is not None}


def write_files(folder):
    files = []
    for header in HEADERS:
        path = folder / (Path(header).stem + ".cpp")
        path.write_text(f"#include <{header}>\n" + "".join(FUNCTION.format(n=n) for n in range(10)))
        files.append(path)
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--dtypecheck", type=Path, default=ROOT / "build/bin/dtypecheck")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch = next(iter((ROOT / ".venv/lib").glob("python3*/site-packages/torch")), None)
    if torch is None:
        sys.exit("bench/lint.py: no torch in .venv; scripts/setup puts it there")
    with tempfile.TemporaryDirectory(prefix="dtypecheck-bench-") as name:
        folder = Path(name)
        files = [path.resolve() for path in options.files] or write_files(folder)
        print("load before", *os.getloadavg())
        for file in files:
            commands = programs(options.dtypecheck.resolve(), torch, file, folder / "cache")
            runs = {name: [] for name in commands}
            for _ in range(options.rounds):
                for name, command in commands.items():
                    runs[name].append(cost(command, file.parent, folder / "cache",
                                           FORGETS.get(name, ())))
            compiler = min(seconds for seconds, _ in runs["clang++-19 -fsyntax-only"])
            print(f"\n{file.name}")
            for name, costs in runs.items():
                seconds, memory = min(costs)[0], max(memory for _, memory in costs)
                print(f"  {name:<37}{seconds:8.2f} s {seconds / compiler:8.2f} x {memory:8.0f} MiB")
        print("load after", *os.getloadavg())


if __name__ == "__main__":
    main()
