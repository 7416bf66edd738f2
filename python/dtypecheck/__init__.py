"""dtypecheck: a dtype sanitizer for programs built on PyTorch or LibTorch.

The program is a binary of its own that lies in this package; `python -m dtypecheck` is the same as `dtypecheck`.

    with dtypecheck.trace() as run:     # or run = dtypecheck.attach(): from here to the end of the process
        step(batch)
    for finding in run.findings:
        print(finding)
"""

from dtypecheck._tool import ToolMissing, find_tool, version

__all__ = ["Finding", "ReportFailed", "Run", "ToolMissing", "attach", "find_tool", "trace", "__version__"]
__version__ = version()

_LATER = {"Finding": "_findings", "ReportFailed": "_recording", "Run": "_recording", "attach": "_recording",
          "trace": "_recording"}


def __getattr__(name):
    """Recording is imported when it is asked for: `python -m dtypecheck` needs none of it."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib
    return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)


def load_ipython_extension(shell):
    """%load_ext dtypecheck"""
    from dtypecheck import notebook
    notebook.load(shell)
