#!/usr/bin/env python3
"""What LibTorch wants of NVIDIA's libraries: the undefined symbols of its own, and the names that it looks up in the driver.

wanted.py PRETENDED TORCH-FOLDER…           prints what the libraries of the folder PRETENDED have not, which a build made
wanted.py --add PRETENDED TORCH-FOLDER…     adds it to wanted.txt
"""
import re
import subprocess
import sys
from pathlib import Path

LIST = Path(__file__).with_name("wanted.txt")
NVIDIA = re.compile(
    r"(__cuda|cu[A-Z]|cuda[A-Z]|cublas|cudnn|cufft|cupti|curand|cusolver|cusparse|nccl|nvml|nvrtc|nvJitLink|nvshmem|nvtx)\w*$")


def wanted_by(folder):
    libraries = [*Path(folder).glob("lib/*.so"), *Path(folder).glob("_C*.so")]
    if not any(library.name == "libtorch_cuda.so" for library in libraries):
        sys.exit(f"{folder}: no lib/libtorch_cuda.so is there; name the torch folder of a wheel with CUDA")
    names = wanted_by_triton(Path(folder).parent / "triton/backends/nvidia")
    for library in libraries:
        text = subprocess.run(["nm", "-D", "--undefined-only", library], check=True, capture_output=True, text=True).stdout
        names |= {line.split()[-1].split("@")[0] for line in text.splitlines()}
    # As C strings: the driver and its management library are opened when they are needed.
    opened = Path(folder, "lib/libc10_cuda.so").read_bytes()
    names |= {name.decode() for name in re.findall(rb"\0((?:cu[A-Z][a-z]|nvml[A-Z])\w+)(?=\0)", opened)}
    return {name for name in names if NVIDIA.match(name)}


def wanted_by_triton(folder):
    """What its launcher calls, which is compiled where it runs."""
    launcher, header = folder / "driver.c", folder / "include/cuda.h"
    if not launcher.exists() or not header.exists():
        return set()
    functions = set(re.findall(r"CUDAAPI (cu\w+)\(", header.read_text()))
    return functions & set(re.findall(r"\bcu[A-Z]\w+", launcher.read_text()))


def defined_in(pretended):
    text = subprocess.run(["nm", "-D", "--defined-only", *Path(pretended).glob("*.so.1")], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in text.splitlines() if line}


def main(arguments):
    adds = arguments[:1] == ["--add"]
    pretended, *folders = arguments[1:] if adds else arguments or [""]
    if not folders:
        sys.exit(__doc__.strip())
    missing = set().union(*map(wanted_by, folders)) - defined_in(pretended)
    if adds:
        LIST.write_text("".join(f"{name}\n" for name in sorted({*LIST.read_text().split(), *missing})))
    else:
        print("\n".join(sorted(missing)), end="\n" if missing else "")
    return 0 if adds or not missing else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
