"""%%dtypecheck in IPython, without and with a terminal of its own."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import IPython  # noqa: F401
except ImportError:
    print("IPython is not installed; scripts/setup installs it")
    sys.exit(77)

RUNNER = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
for cell in open(sys.argv[1]).read().split("#---\\n"):
    result = shell.run_cell(cell, store_history=True)
    print("ok" if result.success else "failed", flush=True)
"""


class Magic(unittest.TestCase):
    def run_cells(self, *cells, **environment):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="dtypecheck-test-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        (folder / "cells").write_text("#---\n".join(cells))
        environment = {**os.environ, "IPYTHONDIR": str(folder / "ipython"), **environment}
        done = subprocess.run([sys.executable, "-B", "-c", RUNNER, "cells"], cwd=folder, env=environment, text=True,
                              capture_output=True, timeout=3000)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.err = done.stderr
        return done.stdout

    def test_findings_stand_below_the_cell(self):
        out = self.run_cells("import torch\n%load_ext dtypecheck\n",
                             "weight = torch.ones(2, 2).half()\n",
                             "%%dtypecheck\ndef forward(x):\n    y = x * 2\n    print('runs')\n    return y @ weight\n"
                             "forward(torch.ones(2, 2))\n",
                             "print('and', y if 'y' in dir() else 'on')\n")
        self.assertIn("In [3]:5  ", out)
        self.assertIn("return y @ weight", out)
        self.assertLess(out.index("runs"), out.index("[mixed-operands]"))
        self.assertIn("RuntimeError", out)
        self.assertEqual(out.count("Traceback"), 1)
        self.assertEqual([line for line in out.splitlines() if line in ("ok", "failed")], ["ok", "ok", "failed", "ok"])

    def test_a_clean_cell_and_its_value(self):
        out = self.run_cells("import torch\n%load_ext dtypecheck\n", "%%dtypecheck\nx = torch.ones(2) + 1\nx.sum()\n",
                             "print('x is', x.tolist())\n")
        self.assertIn("tensor(4.)", out)
        self.assertIn("no findings in", out)
        self.assertIn("x is [2.0, 2.0]", out)

    def test_each_cell_has_its_own(self):
        promote = "%%dtypecheck\ntorch.ones(2, 2).half() + torch.ones(2, 2)\n"
        out = self.run_cells("import torch\n%load_ext dtypecheck\n", promote, "%%dtypecheck\ntorch.ones(2) + 1\n", promote)
        self.assertIn("In [2]:2", out)
        self.assertIn("In [4]:2", out)
        self.assertEqual(out.count("[silent-promotion]"), 2)
        self.assertEqual(out.count("\n    torch.ones(2, 2).half() + torch.ones(2, 2)\n"), 2)  # quoted in each report

    def test_wrong_options_and_no_tool(self):
        out = self.run_cells("import torch\n%load_ext dtypecheck\n", "%%dtypecheck --fast\n1\n")
        self.assertIn("unknown option --fast; there is --check-values", out)
        out = self.run_cells("import torch\n%load_ext dtypecheck\n", "%%dtypecheck\nprint(1 + 1)\n", DTYPECHECK=f"{__file__}/none")
        self.assertIn("\n2\n", out)
        self.assertIn(f"{__file__}/none: is no program", out + self.err)


if __name__ == "__main__":
    unittest.main()
