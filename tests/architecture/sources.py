"""The C and C++ sources of the tree: what git knows, and what is new in it."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENDINGS = (".c", ".cpp", ".h", ".inc", ".cu", ".S")


def sources(endings=ENDINGS):
    """Paths from the root, of files that exist."""
    listed = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.splitlines()
    return [path for path in listed if path.endswith(endings) and (ROOT / path).is_file()]
