"""What tests in Python share: who uses it puts this folder into sys.path."""
import os
import pathlib
import re


def clean_environment(*others: str) -> dict[str, str]:
    """This process's, without what would trace a program that is run in it, and without `others`."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith("DTYPECHECK") and name not in ("LD_PRELOAD", *others)}


def only_line(path: pathlib.Path, pattern: str) -> int:
    """The number of the line where the pattern is found."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [number for number, line in enumerate(lines, 1) if re.search(pattern, line)]
    if len(found) != 1:
        raise ValueError(f"{path.name}: {pattern} is found in the lines {found}, expected one")
    return found[0]


def marked_line(path: pathlib.Path, name: str) -> int:
    """The number of the line that ends in "# <- name", in C++ "// <- name"."""
    return only_line(path, rf"(#|//) <- {re.escape(name)}$")
