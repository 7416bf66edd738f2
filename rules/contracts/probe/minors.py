"""Measures LibTorch versions from their wheels on a machine without a GPU: minors.py VERSION... -o FILE

For each version the wheel alone is fetched with pip and unpacked, measured with the Python that runs
this, and deleted. The CUDA libraries that it asks for are gigabytes of which nothing is called: in
their place come libraries of the same names whose functions return 0. With --into TABLE they take the
place of those versions in TABLE, or stand beside them. Needs gcc and binutils.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
COMMON = ["typing_extensions", "sympy", "networkx", "jinja2", "filelock", "fsspec", "numpy<2",
          "expecttest", "pyyaml", "packaging", "setuptools<70"]
SYSTEM = re.compile(r"lib(c|m|dl|rt|util|pthread|gcc_s|stdc\+\+|z|quadmath)\.so|ld-linux")
OF_CUDA = re.compile(r"(cu|nv|nccl|__cuda|__nv|_ZN?K?\d*(nv|cu))\w*$")
# No device, so that torch does not look for one.
ANSWERS = {"cudaGetDeviceCount": 100, "cuInit": 100}
# Up to LibTorch 2.3 each refusal collects a C++ stack: milliseconds, of which nothing is kept.
NO_STACK = """#include <stdlib.h>
int backtrace(void **frames, int size) { (void)frames; (void)size; return 0; }
char **backtrace_symbols(void *const *frames, int size) { (void)frames; (void)size; return malloc(8); }
"""


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def pip(target, *packages):
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir",
                    "--disable-pip-version-check", "--target", target, *packages], check=True)


def build(path, source, *options):
    path.with_suffix(".c").write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-fno-builtin", *options, "-o", path,
                    path.with_suffix(".c")], check=True)


def symbols(path, which):
    """{name: version, or ""} of the dynamic symbols."""
    found = {}
    for line in output_of("nm", "-D", which, str(path)).splitlines():
        name, _, version = line.split()[-1].partition("@")
        found[name] = version.lstrip("@")
    return found


def versions_of(path):
    """{library: the versions of its symbols that are asked for}"""
    found, library = {}, None
    for line in output_of("readelf", "-W", "-V", str(path)).splitlines():
        file = re.search(r"File: (\S+)", line)
        version = re.search(r"Name: (\S+)\s+Flags", line)
        library = file.group(1) if file else library
        if version:
            found.setdefault(library, set()).add(version.group(1))
    return found


def make_stubs(torch, folder):
    """A library for each that torch asks for and that is not there."""
    files = [*torch.glob("lib/*.so*"), *torch.glob("_C*.so")]
    needed, asked, defined, versions = set(), {}, set(), {}
    for file in files:
        needed |= set(re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "-d", str(file))))
        asked.update(symbols(file, "--undefined-only"))
        defined |= set(symbols(file, "--defined-only"))
        for library, names in versions_of(file).items():
            versions.setdefault(library, set()).update(names)
    asked = {name: version for name, version in asked.items()
             if name not in defined and OF_CUDA.match(name)}
    missing = sorted(name for name in needed - {file.name for file in files}
                     if not SYSTEM.match(name))
    named = {version for library in missing for version in versions.get(library, ())}
    folder.mkdir()
    for library in missing:
        groups = {version: [n for n, v in asked.items() if v == version]
                  for version in versions.get(library, ())}
        names = sum(groups.values(), [n for n, v in asked.items() if v not in named])
        script = folder / (library + ".map")
        script.write_text("".join("%s { global: %s };\n" % (version, "".join(n + "; " for n in of))
                                  for version, of in groups.items()))
        options = ["-Wl,--version-script=%s" % script] if groups else []
        build(folder / library, "".join("long %s(void) { return %d; }\n" % (n, ANSWERS.get(n, 0))
                                        for n in names), "-Wl,-soname," + library, *options)


def measure(version, out, work):
    torch = work / version
    print("measuring", version, file=sys.stderr)
    pip(torch, "--no-deps", "torch==" + version)
    make_stubs(torch / "torch", work / "stubs")
    build(work / "no_stack.so", NO_STACK)
    environment = dict(os.environ, PYTHONPATH="%s:%s" % (work / "common", torch),
                       LD_LIBRARY_PATH=str(work / "stubs"), LD_PRELOAD=str(work / "no_stack.so"),
                       OMP_NUM_THREADS="1")
    subprocess.run([sys.executable, "-B", HERE / "measure.py", "-o", out, "--op-limit", "300"],
                   env=environment, check=True)
    shutil.rmtree(torch)
    shutil.rmtree(work / "stubs")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="+")
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--into", help="a table that the versions are added to")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        pip(work / "common", *COMMON)
        tables = [arguments.into] if arguments.into else []
        for version in arguments.versions:
            tables.append(str(work / (version + ".contracts")))
            measure(version, tables[-1], work)
        subprocess.run([sys.executable, "-B", HERE / "merge.py", *tables, "-o", arguments.out],
                       check=True)


if __name__ == "__main__":
    main()
