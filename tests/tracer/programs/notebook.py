"""Runs cells as a notebook's kernel does: the code has the name of a file that is not there, IPython has the cell's number by
that name, and linecache its lines."""

import linecache
import sys
import tempfile
import traceback
import types

CELLS = ["import torch\nweight = torch.ones(2, 2).half()\n",
         "def forward(batch):\n    return batch @ weight\n",
         "\nforward(torch.ones(2, 2))\n", "from helpers import project\nproject(weight)\n"]


class InteractiveShell:
    _instance = None


def make_helpers():
    """A module of the user's own, which a cell calls."""
    folder = tempfile.mkdtemp()
    with open(f"{folder}/helpers.py", "w") as file:
        file.write("import torch\ndef project(weight):\n    return torch.ones(2, 2).double() @ weight\n")
    sys.path.insert(0, folder)


def main():
    make_helpers()
    module = types.ModuleType("IPython.core.interactiveshell")
    module.InteractiveShell = InteractiveShell
    sys.modules[module.__name__] = module
    shell = InteractiveShell._instance = InteractiveShell()
    shell.compile = types.SimpleNamespace(_filename_map={})
    space = {}
    for number, source in enumerate(CELLS, 1):
        name = f"/tmp/ipykernel_71/{number * 1000}.py"
        shell.compile._filename_map[name] = number
        linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
        try:
            exec(compile(source, name, "exec"), space)
        except RuntimeError:  # a kernel shows it and waits for the next cell
            traceback.print_exc()


main()
