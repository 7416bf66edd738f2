"""The layout of the sources is clang-format's: test_layout.py CLANG-FORMAT

A folder whose .clang-format has DisableFormat is left as it is, and so is what stands between clang-format off and on.
"""

import os
import subprocess
import sys

from sources import ROOT, sources

if not sys.argv[1:] or not os.access(sys.argv[1], os.X_OK):
    print("skipped: no clang-format-19 here; scripts/setup installs it")
    sys.exit(77)
broken = subprocess.run([sys.argv[1], "--dry-run", "-Werror", "-"], input=b"int  f( ){return 1 ;}\n", capture_output=True, cwd=ROOT)
assert broken.returncode != 0, "clang-format accepts what it should not: is there a .clang-format at the root?"
wrong = subprocess.run([sys.argv[1], "--dry-run", "-Werror", *sources((".c", ".cpp", ".h", ".cu"))], cwd=ROOT, capture_output=True, text=True)
if wrong.returncode != 0:
    files = sorted({line.split(":")[0] for line in wrong.stderr.splitlines() if ": error:" in line})
    print("not laid out by clang-format-19:", *files, sep="\n  ")
    print("clang-format-19 -i FILE does it; a table is kept from it by // clang-format off")
    sys.exit(1)
