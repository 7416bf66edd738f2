"""The pretended GPU has what this torch wants of NVIDIA's libraries."""
import importlib.util
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tracer/pretended"))
import wanted  # noqa: E402

PRETENDED = pathlib.Path(os.environ["DTYPECHECK"]).parent.parent / "libexec/dtypecheck/pretended"
TORCH = pathlib.Path(importlib.util.find_spec("torch").origin).parent


class Wanted(unittest.TestCase):
    def test_the_libraries_have_it(self):
        names = wanted.wanted_by(TORCH)
        self.assertGreater(len(names), 500)
        self.assertEqual(names - wanted.defined_in(PRETENDED), set(), "tracer/pretended/wanted.py --add lists it")

    def test_what_the_files_define_is_not_listed(self):
        listed = wanted.LIST.read_text().split()
        self.assertEqual(listed, sorted(set(listed)))
        sources = "".join(file.read_text() for file in wanted.LIST.parent.glob("*.c"))
        self.assertEqual([name for name in listed if re.search(rf"^EXPORT\b[^(]*\b{name}\(", sources, re.M)], [])


if __name__ == "__main__":
    unittest.main()
