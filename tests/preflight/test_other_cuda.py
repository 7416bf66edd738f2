"""dtypecheck preflight of LibTorches that were built for other CUDAs than the one of scripts/setup: 11.7 to 13.0.

Each version's wheel is installed once below $DTYPECHECK_TEST_CACHE, without NVIDIA's libraries: 1.7 GB and a minute. In their
place come libraries in which each function returns 0 (rules/contracts/probe/minors.py), and the pretended ones before them.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from test_preflight import PROGRAMS, Preflight

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "rules/contracts/probe"), str(SOURCE / "tracer/pretended")]
import minors  # noqa: E402
import wanted  # noqa: E402

CACHE = pathlib.Path(os.environ.get("DTYPECHECK_TEST_CACHE") or tempfile.gettempdir())
PYTHON = os.path.realpath(sys.executable)  # without the torch of this environment


def torch_without_nvidia(version):
    """The folders of a torch and of its stand-ins; SkipTest where it cannot be had."""
    common, folder = CACHE / "common", CACHE / f"cuda-{version}"
    try:
        if not (common / ".made").exists():
            minors.pip(common, *minors.COMMON)
            (common / ".made").touch()
        if not (folder / ".made").exists():
            minors.pip(folder, "--no-deps", f"torch=={version}")
            minors.make_stubs(folder / "torch", folder / "stubs")
            (folder / ".made").touch()
    except subprocess.CalledProcessError as error:
        raise unittest.SkipTest(f"torch=={version} cannot be installed for {PYTHON}: {error}") from error
    return folder, folder / "stubs", common


def lines_of(text):
    return dict(line.split(": ", 1) for line in text.splitlines())


class OtherCuda:
    """What holds for each version."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.torch, cls.stubs, cls.common = torch_without_nvidia(cls.version)

    def setUp(self):
        super().setUp()
        self.interpreter = PYTHON
        self.environment = {"PYTHONPATH": f"{self.torch}:{self.common}", "LD_LIBRARY_PATH": str(self.stubs)}

    def test_training(self):
        self.assertEqual(self.preflight(PROGRAMS / "other_cuda.py", options=["--gpus", "2", "--gpu", "t4"]), 0, self.err)
        self.assertIn("Tesla T4 14 40 7 5\n", self.out)
        self.assertIn("step 2 scale 65536.0 torch.float16 33 torch.float32\n", self.out)
        self.assertIn("on a pretended sm_75 (T4), 3 steps: no findings", self.err)

    def test_refusals_are_in_the_words_of_libtorch(self):
        self.preflight(PROGRAMS / "refusals.py")
        expected = lines_of((PROGRAMS / "refusals.txt").read_text())
        minor = self.version.rsplit(".", 1)[0]
        expected.update(lines_of((PROGRAMS / f"refusals-{minor}.txt").read_text()))
        self.assertEqual(lines_of(self.out), expected)

    def test_ranks(self):
        ranks = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
        self.assertEqual(self.preflight(*ranks, PROGRAMS / "parallel.py", options=["--gpus", "2"]), 0, self.err)
        self.assertEqual(self.out.count("[[3, 4], [3, 4]]"), 2)
        self.assertIn("on a pretended sm_80 (A100), 3 steps: no findings", self.err)

    def test_memory_runs_out_at_its_size(self):
        self.assertEqual(self.preflight(PROGRAMS / "limits.py", options=["--memory", "4G"]), 1)
        self.assertIn("dtypecheck: out of memory on the pretended GPU: OutOfMemoryError: CUDA out of memory. Tried to allocate "
                      "2.00 GiB", self.err)

    def test_all_that_it_wants_is_known(self):
        pretended = pathlib.Path(os.environ["DTYPECHECK"]).parent.parent / "libexec/dtypecheck/pretended"
        self.assertEqual(wanted.wanted_by(self.torch / "torch") - wanted.defined_in(pretended), set())


class Cuda11_7(OtherCuda, Preflight):
    version = "2.0.1"


class Cuda12_1(OtherCuda, Preflight):
    version = "2.1.2"


class Cuda12_4(OtherCuda, Preflight):
    version = "2.6.0"


class Cuda13_0(OtherCuda, Preflight):
    version = "2.11.0"


if __name__ == "__main__":
    unittest.main()
