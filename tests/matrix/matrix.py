"""The wheel on clean systems: in a root of each Debian and Ubuntu, with its own Python and no compiler, each torch is
installed as users install it, the wheel beside it, and a training that fails and one that does not are traced.

    matrix.py WHEEL [--work DIR] [--only 2.8]     as root; a row takes minutes and 6 GB, which go with it

The table goes to stdout, in Markdown, as it stands in docs/platforms.md; the exit status is 1 when a row failed.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

# Debian and Ubuntu, one for each CPython from 3.8 to 3.14, with torches that it has wheels of. Debian's testing moves.
ROWS = [("focal", "2.3.1"), ("bullseye", "2.0.1"), ("bullseye", "2.8.0"), ("jammy", "2.2.2"), ("bookworm", "2.1.2"),
        ("bookworm", "2.4.1"), ("bookworm", "2.11.0"), ("noble", "2.5.1"), ("trixie", "2.6.0"), ("trixie", "2.15.0"),
        ("testing", "2.14.1")]
UBUNTU = ("focal", "jammy", "noble")
KEYS_FROM = "testing"  # the Debian that has the keys by which Ubuntu's packages are checked; 12 has none
SOURCE = pathlib.Path(__file__).resolve().parents[2]
NETWORK = ("PIP_", "SSL_CERT", "REQUESTS_CA", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
LIMIT_S = 3600
# A product that LibTorch refuses, by the kernels that came ahead for this torch, with the gradient in the weight's dtype.
KERNELS = """
import torch
from dtypecheck import kernels
x, weight = torch.ones(2, 8, dtype=torch.half), torch.full((4, 8), 0.5, requires_grad=True)
y = kernels.linear(x, weight)
y.sum().backward()
print(y.dtype, y.sum().item(), weight.grad.dtype, weight.grad.sum().item())
"""


class Failed(Exception):
    pass


class Root:
    """A clean root that is entered with chroot."""

    def __init__(self, pristine, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(["cp", "-a", "--reflink=auto", pristine, folder], check=True)
        for name in ["/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf",
                     *(v for k, v in os.environ.items() if k in ("SSL_CERT_FILE", "PIP_CERT"))]:
            if os.path.isfile(name):
                target = pathlib.Path(f"{folder}{name}")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(name, target)
        subprocess.run(["mount", "-t", "proc", "proc", folder / "proc"], check=True)
        (folder / "work").mkdir()

    def close(self):
        subprocess.run(["umount", "-l", self.folder / "proc"], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *command):
        environment = {k: v for k, v in os.environ.items() if k.startswith(NETWORK)}
        environment.update(HOME="/root", LANG="C.UTF-8", OMP_NUM_THREADS="1",
                           PATH="/venv/bin:/usr/local/bin:/usr/bin:/bin")
        # The PATH is that of the clean root: chroot itself is looked for in ours.
        return subprocess.run([shutil.which("chroot"), self.folder, "sh", "-c", 'cd /work && exec "$@"', "sh", *command], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False)

    def must(self, *command, status=0):
        done = self.run(*command)
        if done.returncode != status:
            raise Failed(f"{' '.join(command)}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        return done


def make_pristine(release, work):
    pristine = work / f"{release}.pristine"
    if not (pristine / ".made").exists():
        shutil.rmtree(pristine, ignore_errors=True)
        packages = "python3,python3-venv,ca-certificates"
        source, script = [], []
        if release == KEYS_FROM:
            packages += ",ubuntu-archive-keyring"
        elif release in UBUNTU:
            keys = make_pristine(KEYS_FROM, work) / "usr/share/keyrings/ubuntu-archive-keyring.gpg"
            source = ["--components=main,universe", f"--keyring={keys}"]
            # An older debootstrap has no script for the newer ones, and all are links to one.
            script = ["", "/usr/share/debootstrap/scripts/focal"]
        with open(work / f"{release}.log", "w") as log:
            subprocess.run(["debootstrap", "--variant=minbase", *source, f"--include={packages}", release, pristine,
                            *script], stdout=log, stderr=log, check=True)
        (pristine / ".made").touch()
    return pristine


def expect(is_so, what):
    if not is_so:
        raise Failed(what)


def rules_of(root, run):
    done = root.run("dtypecheck", "report", "--format", "json", run)
    return [finding["rule"] for finding in json.loads(done.stdout)["findings"]]


def check_row(root, wheel, torch):
    """What a row of the table says beside its system; raises Failed."""
    expect(root.run("sh", "-c", "command -v cc c++ g++ gcc clang").returncode != 0, "there is a compiler in the clean root")
    root.must("python3", "-m", "venv", "/venv")
    if root.run("python", "-c", "import pip; exit(tuple(map(int, pip.__version__.split('.')[:2])) < (20, 3))").returncode:
        root.must("python", "-m", "pip", "install", "--quiet", "--upgrade", "pip")  # it knows no tag of a C library
    root.must("python", "-m", "pip", "install", "--quiet", "--no-cache-dir", f"torch=={torch}")
    shutil.copyfile(wheel, root.folder / "work" / wheel.name)
    root.must("python", "-m", "pip", "install", "--quiet", "--no-index", wheel.name)
    shutil.copyfile(SOURCE / "examples" / "first_demo" / "train.py", root.folder / "work" / "train.py")

    plain = root.must("python", "train.py", "--cast-mask")
    clean = root.must("dtypecheck", "trace", "--out", "clean", "--", "python", "train.py", "--cast-mask")
    expect(clean.stdout == plain.stdout, f"the traced program printed {clean.stdout!r}, and {plain.stdout!r} untraced")
    expect("no findings" in clean.stderr, f"the clean training:\n{clean.stderr}")
    expect("compiling" not in clean.stderr, "the tracer was compiled")
    broken = root.must("python", "-m", "dtypecheck", "trace", "--out", "broken", "--", "python", "train.py", status=1)
    rules = rules_of(root, "broken")
    expect("mixed-operands" in rules or "silent-promotion" in rules, f"the broken training: {rules}\n{broken.stderr}")
    expect("train.py:30" in broken.stderr, f"the cure names another line:\n{broken.stderr}")
    computed = root.must("python", "-c", KERNELS)
    expect(computed.stdout == "torch.float16 32.0 torch.float32 64.0\n", f"the kernels printed {computed.stdout!r}")
    expect("compiling" not in computed.stderr, "the kernels were compiled")
    doctor = root.must("dtypecheck", "doctor")
    expect("prebuilt" in doctor.stdout, doctor.stdout)
    begin = time.monotonic()
    root.must("dtypecheck", "demo")
    return [root.must("python", "-c", "import platform; print(platform.python_version())").stdout.strip(),
            root.must("python", "-c", "import torch; print(torch.__version__)").stdout.strip(),
            "yes", "yes", "yes", f"{time.monotonic() - begin:.0f} s"], doctor.stdout


def system_of(root):
    lines = (root.folder / "etc/os-release").read_text().splitlines()
    name = next(line.split("=", 1)[1].strip('"') for line in lines if line.startswith("PRETTY_NAME="))
    glibc = root.must("python3", "-c", "import platform; print(platform.libc_ver()[1])").stdout.strip()
    return f"{name}, glibc {glibc}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=SOURCE / "build" / "matrix")
    parser.add_argument("--only", help="rows whose torch begins so")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    print("| system | Python | torch | failing step found | clean step silent, same output | kernels | `dtypecheck demo` |")
    print("|---|---|---|---|---|---|---|", flush=True)
    failed = 0
    for release, torch in ROWS:
        if not torch.startswith(args.only or ""):
            continue
        with contextlib.closing(Root(make_pristine(release, args.work), args.work / "root")) as root:
            system = system_of(root)
            try:
                cells, doctor = check_row(root, args.wheel, torch)
                (args.work / f"doctor-{release}-{torch}.txt").write_text(doctor)
            except Failed as failure:
                failed += 1
                print(f"{system}, torch {torch}: {failure}", file=sys.stderr, flush=True)
                cells = ["", torch, "no: " + str(failure).splitlines()[0], "", "", ""]
            print(f"| {system} | {' | '.join(cells)} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
