"""`python -m dtypecheck`, and the command `dtypecheck` of an installed wheel: this process becomes the program."""

import os
import sys

from dtypecheck._tool import ToolMissing, find_tool


def main():
    try:
        tool = find_tool()
        os.execv(tool, ["dtypecheck", *sys.argv[1:]])
    except (ToolMissing, OSError) as error:
        print(f"dtypecheck: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
