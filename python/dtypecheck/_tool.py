"""Where the dtypecheck program lies: beside this package when it is installed, in build/ of a source tree, or where
$DTYPECHECK says."""

import os
import pathlib
import re

_PACKAGE = pathlib.Path(__file__).resolve().parent
_TREE = _PACKAGE.parent.parent  # in a source tree, where this is python/dtypecheck


class ToolMissing(Exception):
    """The program is at none of its places; the message says what to do."""


def _is_program(path):
    return path.is_file() and os.access(path, os.X_OK)


def _is_tree():
    return (_TREE / "cli" / "command_list.inc").is_file()


def find_tool():
    """The path of the program as a string; raises ToolMissing."""
    named = os.environ.get("DTYPECHECK")
    if named:
        if _is_program(pathlib.Path(named)):
            return named
        raise ToolMissing(f"{named}: is no program, and $DTYPECHECK names it; unset it, or give the program's path")
    installed = _PACKAGE / "bin" / "dtypecheck"
    if _is_program(installed):
        return str(installed)
    built = _TREE / "build" / "bin" / "dtypecheck"
    if not _is_tree():
        raise ToolMissing(f"{installed}: does not exist; install dtypecheck again: "
                          "python -m pip install --force-reinstall dtypecheck")
    if _is_program(built):
        return str(built)
    raise ToolMissing(f"{built}: is not built; run cmake --preset demo && cmake --build build --target demo")


def version():
    """Of the installed package; of a source tree, what its CMakeLists.txt says, which the package takes too."""
    if _is_tree():
        return re.search(r"project\(dtypecheck VERSION ([\d.]+)", (_TREE / "CMakeLists.txt").read_text()).group(1)
    from importlib import metadata
    return metadata.version("dtypecheck")
