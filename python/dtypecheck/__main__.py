"""`python -m dtypecheck`, and the command `dtypecheck` of an installed wheel: this process becomes the program."""

import os
import sys

from dtypecheck._tool import ToolMissing, find_tool


# Of the commands that ask for a Python, the one that the package is installed for is meant, on the PATH or not.
_ASK_FOR_PYTHON = ("demo", "doctor")


def _arguments():
    given = sys.argv[1:]
    if given[:1] and given[0] in _ASK_FOR_PYTHON and not any(word.split("=")[0] == "--python" for word in given):
        return [given[0], "--python", sys.executable, *given[1:]]
    return given


def main():
    try:
        tool = find_tool()
        os.execv(tool, ["dtypecheck", *_arguments()])
    except (ToolMissing, OSError) as error:
        print(f"dtypecheck: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
