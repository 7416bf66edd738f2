"""The versions that README.md and docs/ promise are those that scripts/wheel and the tracer have."""

import re
import unittest

from sources import ROOT


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


class Versions(unittest.TestCase):
    def test_torch(self):
        torches = re.search(r"^torches=\((.*)\)$", text("scripts/wheel"), re.MULTILINE)[1].split()
        minors = [torch.rsplit(".", 1)[0] for torch in torches]
        self.assertEqual(minors[:2], ["1.13", "2.0"])
        newest = minors[-1]
        self.assertIn(f"torch (1.13, or 2.0 to {newest}; ", text("README.md"))
        self.assertIn(f"each LibTorch minor from 1.13 to {newest}", text("docs/contracts.md"))
        rows = re.findall(r"^\| (\S.*?) \| (?:old and )?new \|", text("docs/platforms.md"), re.MULTILINE)
        self.assertEqual(rows, ["1.13, 2.0 to 2.6", f"2.7 to {newest}"])
        measured = re.findall(r"^runtime \d+ cpu (\S+)", text("rules/contracts/cpu.contracts"), re.MULTILINE)
        self.assertEqual(measured, torches)
        of_cuda = re.findall(r"^runtime \d+ cuda (\d+\.\d+)", text("rules/contracts/cuda.contracts"), re.MULTILINE)
        told = re.search(r"cuda\.contracts` what was\nmeasured of CUDA (.*?) by LibTorch's", text("docs/contracts.md"))[1]
        self.assertEqual(sorted(re.findall(r"\d+\.\d+", told)), sorted(of_cuda))

    def test_python(self):
        oldest = re.search(r"is older than (3\.\d+)", text("tracer/python/layout.cpp"))[1]
        published = text("tracer/python/python_offsets.h").split("kPublished", 1)[1]
        newest = max(int(minor) for minor in re.findall(r"^ *\{(\d+),", published, re.MULTILINE))
        for path in ("README.md", "docs/platforms.md"):
            self.assertIn(f"CPython {oldest} to 3.{newest}", text(path))
        self.assertIn(f'requires-python = ">={oldest}"', text("pyproject.toml"))


if __name__ == "__main__":
    unittest.main()
