"""What this torch wants of NVIDIA's libraries is in tracer/pretended/wanted.txt, and the pretended GPU has all of it."""
import importlib.util
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tracer/pretended"))
import wanted  # noqa: E402

LIBRARIES = [sys.argv.pop() for _ in range(2)]
TORCH = pathlib.Path(importlib.util.find_spec("torch").origin).parent


class Wanted(unittest.TestCase):
    def setUp(self):
        self.wanted = wanted.wanted_by(TORCH)

    def test_the_list_is_whole(self):
        self.assertGreater(len(self.wanted), 500)
        self.assertEqual(self.wanted - set(wanted.LIST.read_text().split()), set(), "tracer/pretended/wanted.py --add writes it")

    def test_the_libraries_have_it(self):
        symbols = subprocess.run(["nm", "-D", "--defined-only", *LIBRARIES], check=True, capture_output=True, text=True).stdout
        self.assertEqual(self.wanted - {line.split()[-1] for line in symbols.splitlines() if line}, set())


if __name__ == "__main__":
    unittest.main()
