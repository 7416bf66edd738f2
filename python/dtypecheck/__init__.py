"""dtypecheck: a dtype sanitizer for programs built on PyTorch or LibTorch.

The program is a binary of its own that lies in this package; `python -m dtypecheck` is the same as `dtypecheck`.
"""

from dtypecheck._tool import find_tool, version

__all__ = ["find_tool", "__version__"]
__version__ = version()
